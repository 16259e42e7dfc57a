#include "tests/bench/scaling/shard_thread.h"

#include "tests/bench/scaling/load_thread.h"

#include "server/limits.h"
#include "storage/limits.h"

#include <algorithm>

namespace holdfast::scaling {
namespace {

constexpr std::size_t kRecordBytes = 45;  // of a RESERVE in a full group
constexpr std::size_t kGroupRecordsMax = kGroupBytesTarget / kRecordBytes;

}  // namespace

bool ShardThread::plan() {
  switch (phase_) {
    case Phase::poll:
      return poll();
    case Phase::send:
      send_commands();
      phase_ = is_owner_ ? Phase::run : Phase::deliver;
      return true;
    case Phase::run:
      run();
      return true;
    case Phase::hand_over:
      hand_over();
      phase_ = Phase::deliver;
      return true;
    case Phase::deliver:
      deliver();
      phase_ = Phase::flush;
      return true;
    case Phase::flush:
      flush();
      phase_ = Phase::poll;
      return true;
  }
  return false;
}

bool ShardThread::poll() {
  const bool behind = at_log_ >= kGroupsBehindMax;
  const bool may_read = outstanding_ + world_.scenario.pipeline <= kCreditsMax;
  const bool reads = !ready_.empty() && may_read;
  if (!reads && (commands_.empty() || behind) && committed_.empty() && replies_.empty()) return !(slept_ = true);
  then(world_.costs.turn + (std::exchange(slept_, false) ? world_.costs.sleep : Nanos()), [] {});
  std::size_t left = reads ? std::min<std::size_t>(ready_.size(), kEventsMax) : 0;
  for (std::size_t room = kCreditsMax - outstanding_; left > 0 && room >= world_.scenario.pipeline; --left) {
    Connection& connection = *ready_.front();
    ready_.pop_front();
    if (world_.scenario.selling) room -= world_.scenario.pipeline;
    const Nanos command = !world_.scenario.selling ? world_.costs.refuse
                          : is_owner_              ? world_.costs.own
                                                   : world_.costs.forward;
    then(world_.costs.socket / 2 + static_cast<double>(world_.scenario.pipeline) * command,
         [this, &connection] { read(connection); });
  }
  phase_ = Phase::send;
  rounds_ = 0;
  return true;
}

void ShardThread::read(Connection& connection) {
  if (!world_.scenario.selling) return answer(connection, world_.scenario.pipeline);
  outstanding_ += world_.scenario.pipeline;
  for (std::size_t left = world_.scenario.pipeline; left > 0;) {
    if (filled_.empty() || filled_.back().count == kBlockCommandsMax) filled_.push_back({this, {}, 0});
    Block& block = filled_.back();
    const std::size_t some = std::min<std::size_t>(left, kBlockCommandsMax - block.count);
    block.parts.push_back({&connection, some});
    block.count += some;
    left -= some;
  }
}

void ShardThread::answer(Connection& connection, std::size_t count) {
  connection.answers += count;
  if (!std::exchange(connection.in_dirty, true)) dirty_.push_back(&connection);
}

void ShardThread::send_commands() {
  for (Block& filled : std::exchange(filled_, {})) {
    auto block = std::make_shared<Block>(std::move(filled));
    then(is_owner_ ? Nanos() : world_.costs.block, [this, block] {
      owner_->take_commands(std::move(*block));
      wake_other(*owner_);
    });
  }
}

/// A round: a share of each thread's commands, which all were at the same place in the row here.
void ShardThread::run() {
  while (!committed_.empty()) {
    auto group = std::make_shared<Group>(std::move(committed_.front()));
    committed_.pop_front();
    --at_log_;
    then(world_.costs.group / 2, [this, group] { release(*group); });
  }
  const bool stop = at_log_ >= kGroupsBehindMax || open_.records >= kGroupRecordsMax || rounds_++ >= kRoundsMax;
  if (commands_.empty() || stop) {
    phase_ = Phase::hand_over;
    return;
  }
  for (Block& one : std::exchange(commands_, {})) {
    auto block = std::make_shared<Block>(std::move(one));
    const bool own = block->from == this;  // paid for when it was read
    const Nanos time = own ? Nanos() : world_.costs.block + static_cast<double>(block->count) * world_.costs.run;
    then(time, [this, block] {
      open_.records += block->count;
      open_.blocks.push_back(std::move(*block));
    });
  }
}

void ShardThread::hand_over() {
  const bool full = open_.records >= kGroupRecordsMax;
  if (open_.records > 0 && (at_log_ < kGroupsAtLogMax || full)) {
    ++at_log_;
    then(world_.costs.group / 2, [this] { log_->submit(std::exchange(open_, {})); });
  }
  while (!released_.empty()) {
    auto block = std::make_shared<Block>(std::move(released_.front()));
    released_.pop_front();
    then(Nanos(), [this, block] {
      ShardThread& to = *block->from;
      to.take_replies(std::move(*block));
      wake_other(to);
    });
  }
}

void ShardThread::release(Group& group) {
  for (Block& block : group.blocks) released_.push_back(std::move(block));
}

void ShardThread::wake_other(ShardThread& other) {
  if (&other != this && world_.machine.wake(other)) then(world_.costs.wake, [] {});
}

void ShardThread::deliver() {
  for (Block& one : std::exchange(replies_, {})) {
    auto block = std::make_shared<Block>(std::move(one));
    then(Nanos(), [this, block] {
      outstanding_ -= block->count;
      for (const Part& part : block->parts) answer(*part.connection, part.count);
    });
  }
}

void ShardThread::flush() {
  for (Connection* connection : std::exchange(dirty_, {})) {
    then(world_.costs.socket / 2, [connection] {
      connection->in_dirty = false;
      connection->load->reply(*connection, std::exchange(connection->answers, 0));
    });
  }
}

}  // namespace holdfast::scaling
