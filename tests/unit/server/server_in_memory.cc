#include "tests/unit/server/server_in_memory.h"

#include "protocol/check.h"
#include "server/item_notice.h"

#include <fmt/format.h>

namespace holdfast::test {
namespace {

constexpr int kTurnsMax = 100'000;

Shard::Settings settings() {
  Shard::Settings settings;
  settings.group_bytes = 64_KiB;
  return settings;
}

}  // namespace

ServerInMemory::ServerInMemory() : shard_(settings(), telemetry_.stats) { shard_.begin(); }

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
  moved |= run_shard();
  moved |= commit();
  for (const ItemNotice& notice : shard_.take_notices()) pubsub_.publish(kItemsChannel, notice_json(notice));
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
  while (shard_.keep_time(now_)) commit();
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
bool ServerInMemory::run_shard() {
  bool moved = !blocks_.empty();
  shard_.set_noticing(pubsub_.wants_items());
  const auto blocks = std::exchange(blocks_, {});
  for (const auto& block : blocks) shard_.run(*block, ThreadIndex{}, now_);
  if (Group* group = shard_.hand_over(); group != nullptr) at_log_.push_back(group);
  while (auto replies = shard_.take_replies(ThreadIndex{})) {
    for (std::size_t i = 0; i < replies->size(); ++i) {
      const ReplyBlock::Reply reply = replies->reply(i);
      answer(reply.address, reply.bytes);
    }
    shard_.give_back(std::move(replies));
    moved = true;
  }
  return moved;
}

/// The log: gives groups their LSNs and tells the shard that they are durable.
bool ServerInMemory::commit() {
  if (!log_on_ || at_log_.empty()) return false;
  for (Group* group : std::exchange(at_log_, {})) {
    group->place(next_lsn_);
    next_lsn_ = Lsn(next_lsn_.value() + group->record_count());
    shard_.committed(*group, now_);
  }
  return true;
}

/// What commands asked of the keeper of the connections: there are no replicas and nobody is listed; who is to be killed
/// is.
bool ServerInMemory::answer_control() {
  const auto orders = std::exchange(control_.orders, {});
  const auto waits = std::exchange(control_.waits, {});
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
  return !orders.empty() || !waits.empty();
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

void ServerInMemory::answer(ReplyAddress address, std::string_view bytes) {
  Connected& peer = peers_[address.connection.index];
  if (peer.session != nullptr) peer.session->answer(address.slot, bytes);
}

void ServerInMemory::push(ConnectionKey connection, std::string_view message) {
  Connected& peer = peers_[connection.index];
  if (peer.session != nullptr) peer.session->push(message);
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

void ServerInMemory::forward(const StepCommand& command) {
  if (blocks_.empty()) blocks_.push_back(std::make_unique<CommandBlock>());
  if (blocks_.back()->add(command)) return;
  blocks_.push_back(std::make_unique<CommandBlock>());
  CHECK(blocks_.back()->add(command));
}

}  // namespace holdfast::test
