#include "tests/unit/server/server_in_memory.h"

#include "protocol/check.h"
#include "server/item_notice.h"

#include <fmt/format.h>

namespace holdfast::test {
namespace {

constexpr int kTurnsMax = 100'000;

Shard::Settings settings(std::uint16_t index, std::uint16_t count) {
  Shard::Settings settings;
  settings.index = ShardIndex(index);
  settings.inventory.place = {settings.index, count};
  settings.group_bytes = 64_KiB;
  return settings;
}

}  // namespace

ServerInMemory::ServerInMemory(std::uint16_t shards) : router_(shards), blocks_(shards) {
  for (std::uint16_t i = 0; i < shards; ++i) {
    shards_.push_back(std::make_unique<Shard>(settings(i, shards), telemetry_.stats));
    shards_.back()->begin();
  }
  views_.emplace(shards_.front()->inventory().views().hashes());
}

ServerInMemory::Peer ServerInMemory::connect() {
  const auto index = static_cast<std::uint32_t>(peers_.size());
  auto& peer = peers_.emplace_back();
  peer.session = std::make_unique<Session>(ConnectionKey{index, 1}, index + 1,
                                           Session::Peer{"127.0.0.1:5000", "127.0.0.1:7379", 9}, now_.wall, *this);
  return index;
}

std::string ServerInMemory::take(Peer peer) { return std::exchange(peers_[peer].output, {}); }

bool ServerInMemory::turn() {
  bool moved = false;
  for (Connected& peer : peers_) read(peer, moved);
  moved |= ask_notices();
  moved |= run_shards();
  moved |= commit();
  for (const auto& shard : shards_) {
    for (const ItemNotice& notice : shard->take_notices()) {
      for (Delivery& delivery : pubsub_.publish(kItemsChannel, notice_json(notice)).deliveries) {
        deliver(std::move(delivery));
      }
    }
  }
  moved |= answer_control();
  for (Connected& peer : peers_) write(peer, moved);
  return moved;
}

void ServerInMemory::settle() {
  int turns = 0;
  while (turn()) CHECK(++turns < kTurnsMax);
}

void ServerInMemory::pass(Millis time) {
  now_.hold += time;
  now_.wall += time;
  for (const auto& shard : shards_) {
    while (shard->keep_time(now_)) commit();
  }
}

void ServerInMemory::read(Connected& peer, bool& moved) const {
  if (peer.session == nullptr || peer.input.empty() || !peer.session->wants_input()) return;
  Session::Turn share;
  const std::uint64_t before = telemetry_.stats.requests.value();
  const std::size_t done = peer.session->receive(peer.input, share);
  peer.input.erase(0, done);
  moved |= done > 0 || telemetry_.stats.requests.value() != before;
}

void ServerInMemory::write(Connected& peer, bool& moved) {
  if (peer.session == nullptr) return;
  const std::string_view ready = peer.session->output();
  if (!ready.empty()) {
    peer.output.append(ready);
    peer.session->sent(ready.size());
    moved = true;
  }
  if (peer.session->finished() || peer.session->overflowed()) {
    forget(peer.session->key());
    peer.session->leave_channels();
    peer.session.reset();
    moved = true;
  }
}

/// Runs what the sessions forwarded, and gives the sessions the replies that are ready.
bool ServerInMemory::run_shards() {
  bool moved = false;
  for (std::size_t i = 0; i < shards_.size(); ++i) moved |= run_shard(i);
  return moved;
}

bool ServerInMemory::run_shard(std::size_t index) {
  Shard& shard = *shards_[index];
  shard.set_noticing(pubsub_.wants_items());
  const auto blocks = std::exchange(blocks_[index], {});
  bool moved = !blocks.empty();
  for (const auto& block : blocks) shard.run(*block, ThreadIndex{}, now_);
  if (Group* group = shard.hand_over(); group != nullptr) at_log_.push_back(group);
  while (auto replies = shard.take_replies(ThreadIndex{})) {
    for (std::size_t i = 0; i < replies->size(); ++i) {
      const ReplyBlock::Reply reply = replies->reply(i);
      answer(reply.address, reply.bytes, ShardIndex(static_cast<std::uint16_t>(index)));
    }
    shard.give_back(std::move(replies));
    moved = true;
  }
  for (const ViewNews& news : shard.take_view_news(ThreadIndex{})) views_->learn(news.item, news.view);
  for (const RetiredView& retired : shard.take_retired()) {
    views_->forget(retired.view);
    shard.reclaim(retired.ticket);
  }
  return moved;
}

/// The log: gives groups their LSNs and tells the shard that they are durable.
bool ServerInMemory::commit() {
  if (!log_on_ || at_log_.empty()) return false;
  for (Group* group : std::exchange(at_log_, {})) {
    group->place(next_lsn_);
    next_lsn_ = Lsn(next_lsn_.value() + group->record_count());
    shards_[group->shard().value()]->committed(*group, now_);
  }
  return true;
}

/// What commands asked of the keeper of the connections: there are no replicas, nothing is in the log and nobody is
/// listed; who is to be killed is.
bool ServerInMemory::answer_control() {
  const auto orders = std::exchange(control_.orders, {});
  const auto waits = std::exchange(control_.waits, {});
  const auto log = std::exchange(control_.log_requests, {});
  for (const ConnectionOrder& order : orders) {
    std::int64_t count = 0;
    for (Connected& peer : peers_) {
      const bool meant = peer.session != nullptr && order.filter.matches(peer.session->facts(now_.wall));
      if (!meant || order.kind == ConnectionOrder::Kind::list) continue;
      ++count;
      if (order.kind == ConnectionOrder::Kind::kill) peer.session->close(CloseReason::killed);
    }
    answer(order.address, fmt::format(":{}\r\n", count));
  }
  for (const ClientWait& wait : waits) answer(wait.address, ":0\r\n");
  for (const StreamRequest& request : log) answer(request.address, "*0\r\n");
  return !orders.empty() || !waits.empty() || !log.empty();
}

/// The next page of first notices for each who reads them.
bool ServerInMemory::ask_notices() {
  bool asked = false;
  for (Connected& peer : peers_) {
    if (peer.session == nullptr || !peer.session->wants_notices()) continue;
    peer.session->ask_notices();
    asked = true;
  }
  return asked;
}

void ServerInMemory::answer(ReplyAddress address, std::string_view bytes, std::optional<ShardIndex> from) {
  Connected& peer = peers_[address.connection.index];
  if (peer.session == nullptr) return;
  from ? peer.session->answer_from(*from, address.slot, bytes) : peer.session->answer(address.slot, bytes);
}

void ServerInMemory::deliver(Delivery delivery) {
  for (const ConnectionKey connection : delivery.connections) {
    Connected& peer = peers_[connection.index];
    if (peer.session != nullptr) peer.session->push(delivery.kind, delivery.name, delivery.message);
  }
}

ServerStatus ServerInMemory::status() {
  ServerStatus status;
  status.version = "0";
  status.mode = options_.fsync;
  status.space = "ok";
  status.hold = now_.hold;
  status.wall = now_.wall;
  return status;
}

ClockReading ServerInMemory::read_clock() {
  return {std::chrono::nanoseconds(now_.hold.time_since_epoch()), std::chrono::milliseconds(to_ms(now_.wall))};
}

void ServerInMemory::forward(ShardIndex shard, const StepCommand& command) {
  auto& blocks = blocks_[shard.value()];
  if (blocks.empty()) blocks.push_back(std::make_unique<CommandBlock>());
  if (blocks.back()->add(command)) return;
  blocks.push_back(std::make_unique<CommandBlock>());
  CHECK(blocks.back()->add(command));
}

void ServerInMemory::end_waits(ConnectionKey connection, WaitEnd how) {
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    forward(ShardIndex(static_cast<std::uint16_t>(i)), {nullptr, {connection, {}}, {}, {}, how});
  }
}

}  // namespace holdfast::test
