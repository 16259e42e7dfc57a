#include "server/shard.h"

#include "protocol/check.h"
#include "server/client_waits.h"

#include <algorithm>

namespace holdfast {
namespace {

/// Whether a RESERVE was refused, so that its thread may be told why without asking the next time.
bool refuses(const CommandEntry& entry, const StepResult& result) noexcept {
  return entry.id == CommandId::reserve && result.item != ItemNumber() &&
         static_cast<ReserveOutcome>(result.outcome) >= ReserveOutcome::limit_reached &&
         static_cast<ReserveOutcome>(result.outcome) < ReserveOutcome::taken;
}

}  // namespace

RecordPosition Shard::OpenGroup::on_item(const RecordStamp& stamp, const ItemRecord& record) {
  return group->on_item(stamp, record);
}
RecordPosition Shard::OpenGroup::on_reservation(const RecordStamp& stamp, const ReservationRecord& record) {
  stats->changes[static_cast<std::size_t>(record.event) - 1].add();
  return group->on_reservation(stamp, record);
}
RecordPosition Shard::OpenGroup::on_forget(const RecordStamp& stamp, const ForgetRecord& record) {
  return group->on_forget(stamp, record);
}
RecordPosition Shard::OpenGroup::on_default_returns(const RecordStamp& stamp, const DefaultReturnsRecord& record) {
  return group->on_default_returns(stamp, record);
}

Shard::Shard(const Settings& settings, ThreadStats& stats)
    : settings_(settings),
      stats_(stats),
      inventory_(settings.inventory, sink_),
      gate_(settings.threads),
      watches_(settings.threads) {
  sink_.stats = &stats;
}

void Shard::begin() {
  CHECK(open_ == nullptr);
  open_next_group();
}

void Shard::open_next_group() {
  if (spare_groups_.empty()) {
    groups_.push_back(std::make_unique<Group>(settings_.index, settings_.group_bytes));
    spare_groups_.push_back(groups_.back().get());
  }
  open_ = spare_groups_.back();
  spare_groups_.pop_back();
  ordinal_ = ordinal_.next();
  open_->open(ordinal_);
  sink_.group = open_;
  inventory_.open_group(ordinal_);
  gate_.open(ordinal_);
}

void Shard::run(const CommandBlock& block, ThreadIndex from, const Now& now) {
  lookahead_.look(inventory_, block.commands());
  StepResult last;
  for (const StepCommand& command : block.commands()) last = run_one(command, from, now, block.arrived());
  // One command stands for its block: which items are busy is known soon enough.
  if (last.item != ItemNumber()) busy_.note(last.item_index, last.item, block.commands().size());
}

StepResult Shard::run_one(const StepCommand& command, ThreadIndex from, const Now& now,
                          std::chrono::nanoseconds arrived) {
  if (command.entry == nullptr) {
    if (command.wait_end == WaitEnd::forget) forget_watch(command.address.connection, from);
    end_waits_of(command, from, now);
    return {};
  }
  if (command.entry->home == CommandHome::session) return run_message(command, from, now, arrived);
  reply_.clear();
  ReplyWriter reply(reply_, command.version);
  const bool may_wait = waits_.size() < kWaitsMax;
  const StepResult result = step(inventory_, *command.entry, command.words, now, reply, !may_wait);
  if (result.waits) return park(command, from, now.hold + std::min(result.wait_timeout, kWaitMax)), result;
  if (!command.further) count(*command.entry, result, reply_[0] == '-');
  if (refuses(*command.entry, result)) {
    inventory_.views().tell(inventory_.item_at(result.item_index), from.value());
  }
  gate_.reply(from, command.address, result.rests_on, reply_,
              {arrived, static_cast<std::size_t>(latency_class(*command.entry))});
  return result;
}

void Shard::count(const CommandEntry& entry, const StepResult& result, bool failed) {
  if (failed) return stats_.commands[static_cast<std::size_t>(entry.id)].failed.add();
  if (entry.id == CommandId::reserve) return stats_.reserve[result.outcome].add();
  if (const auto verb = verb_index(entry.id)) stats_.verbs[*verb][result.outcome].add();
}

void Shard::publish(const Now& now) {
  inventory_.views().see(now);
  stats_.items.set(inventory_.item_count());
  stats_.items_fenced.set(inventory_.fenced_count());
  stats_.gate_waiting.set(gate_.waiting());
  stats_.waits.set(waits_.size());
  stats_.lookups_found.set(inventory_.lookups().found);
  stats_.lookups_missed.set(inventory_.lookups().missed);
  stats_.groups_at_log.set(at_log_);
  const Millis lag = settings_.sweeps ? now.hold - std::min(now.hold, inventory_.next_due(now)) : Millis{};
  stats_.sweep_lag_ms.set(static_cast<std::uint64_t>(lag.count()));
  stats_.hold_ms.set(static_cast<std::uint64_t>(to_ms(now.hold)));
  stats_.wall_ms.set(static_cast<std::uint64_t>(to_ms(now.wall)));
}

bool Shard::keep_time(const Now& now) {
  if (waits_due_ <= now.hold) ask_waits(now, false);
  const bool builds = inventory_.views().work(now);
  const bool sweeps = settings_.sweeps && inventory_.next_due(now) <= now.hold && inventory_.sweep(now);
  return builds || sweeps;
}

HoldTime Shard::next_due(const Now& now) const {
  if (inventory_.views().has_work()) return std::min(waits_due_, now.hold);
  return settings_.sweeps ? std::min(waits_due_, inventory_.next_due(now)) : waits_due_;
}

void Shard::set_space(SpaceState space) {
  if (space == space_) return;
  space_ = space;
  refuse_new();
}

void Shard::set_sinks(std::shared_ptr<const SinkBoard> sinks, const Now& now) {
  inventory_.set_sinks(std::move(sinks));
  refuse_new();
  if (!waits_.empty()) ask_waits(now, false);
}

void Shard::refuse_new() {
  const SinkBoard& sinks = inventory_.sinks();
  inventory_.set_overloaded(space_ == SpaceState::ok ? std::string_view(sinks.overloaded) : space_text(space_));
  inventory_.set_log_fenced(sinks.fenced);
}

Group* Shard::hand_over() {
  if (open_->empty()) return nullptr;
  if (at_log_ >= kGroupsAtLogMax && !open_->wants_seal()) return nullptr;
  Group* const sealed = open_;
  sealed->seal(inventory_.seal());
  keep_notices();
  ++at_log_;
  open_next_group();
  return sealed;
}

void Shard::committed(Group& group, const Now& now) {
  CHECK(at_log_ > 0);
  --at_log_;
  inventory_.on_group_durable(group.ordinal(), group.first_lsn());
  inventory_.views().publish(now);
  gate_.release(group.ordinal());
  release_notices(group.ordinal());
  spare_groups_.push_back(&group);
  if (!waits_.empty()) ask_waits(now, false);
}

void Shard::park(const StepCommand& command, ThreadIndex from, HoldTime until) {
  auto words = std::make_unique<CommandBlock>();
  CHECK(words->add(command));
  const StepCommand copy = words->commands().front();
  waits_.push_back({from, copy, std::move(words), until});
  waits_due_ = std::min(waits_due_, until);
}

void Shard::ask_waits(const Now& now, bool end_all) {
  waits_due_ = HoldTime::max();
  for (std::size_t left = waits_.size(); left > 0; --left) {
    Wait wait = std::move(waits_.front());
    waits_.pop_front();
    reply_.clear();
    ReplyWriter reply(reply_, wait.command.version);
    const bool over = end_all || wait.until <= now.hold;
    const StepResult result = step(inventory_, *wait.command.entry, wait.command.words, now, reply, over);
    if (!result.waits) {
      count(*wait.command.entry, result, reply_[0] == '-');
      gate_.reply(wait.from, wait.command.address, result.rests_on, reply_);
      continue;
    }
    waits_due_ = std::min(waits_due_, wait.until);
    waits_.push_back(std::move(wait));
  }
}

void Shard::end_waits(const Now& now) {
  inventory_.views().end();
  ask_waits(now, true);
}

void Shard::forget_watch(ConnectionKey connection, ThreadIndex from) {
  auto& watches = watches_[from.value()];
  if (const auto found = watches.find(connection.index); found != watches.end()) watches.erase(found);
}

/// Of one connection. A reply that nobody reads gives the sender its credit back.
void Shard::end_waits_of(const StepCommand& order, ThreadIndex from, const Now& now) {
  for (std::size_t left = waits_.size(); left > 0; --left) {
    Wait wait = std::move(waits_.front());
    waits_.pop_front();
    if (wait.from != from || wait.command.address.connection != order.address.connection) {
      waits_.push_back(std::move(wait));
      continue;
    }
    reply_.clear();
    StepResult result;
    if (order.wait_end == WaitEnd::fail) reply_ = kUnblocked;
    if (order.wait_end == WaitEnd::answer) {
      ReplyWriter reply(reply_, wait.command.version);
      result = step(inventory_, *wait.command.entry, wait.command.words, now, reply, true);
    }
    if (!reply_.empty()) count(*wait.command.entry, result, reply_.front() == '-');
    gate_.reply(from, wait.command.address, result.rests_on, reply_);
  }
}

}  // namespace holdfast
