// What a shard is asked besides the commands on one item: WATCH, EXEC, and the first notices of holdfast:items.
#include "protocol/check.h"
#include "server/shard.h"

#include <algorithm>
#include <iterator>

namespace holdfast {
namespace {

constexpr std::string_view kNoRoom =
    "the records of this EXEC do not fit into the group of records that is open; nothing was executed, try again";

}  // namespace

StepResult Shard::run_message(const StepCommand& command, ThreadIndex from, const Now& now,
                              std::chrono::nanoseconds arrived) {
  switch (command.entry->id) {
    case CommandId::watch:
      watch(command, from, now, arrived);
      return {};
    case CommandId::exec:
      return run_exec(command, from, now, arrived);
    case CommandId::subscribe:
      run_first_notices(command, from, now);
      return {};
    default:
      CHECK(false);
  }
}

/// Tells nothing of the item, so that it rests on nothing.
void Shard::watch(const StepCommand& command, ThreadIndex from, const Now& now, std::chrono::nanoseconds arrived) {
  const ConnectionKey connection = command.address.connection;
  watches_[from.value()][connection.index] = {connection.generation, watch_mark(inventory_, command.words[1], now)};
  reply_.clear();
  ReplyWriter(reply_, command.version).status("OK");
  gate_.reply(from, command.address, {}, reply_, {arrived, static_cast<std::size_t>(LatencyClass::read)});
}

StepResult Shard::run_exec(const StepCommand& command, ThreadIndex from, const Now& now,
                           std::chrono::nanoseconds arrived) {
  const ConnectionKey connection = command.address.connection;
  WatchMark watched;
  auto& watches = watches_[from.value()];
  if (const auto found = watches.find(connection.index); found != watches.end()) {
    if (found->second.generation == connection.generation) watched = found->second.mark;
    watches.erase(found);
  }
  reply_.clear();
  ReplyWriter reply(reply_, command.version);
  StepResult result;
  if (open_->bytes().size() + kTransactionRecordBytesMax > kGroupRecordBytesMax) {
    reply.error(Error(ErrorCode::err, kNoRoom));
  } else {
    result = run_transaction(inventory_, command.words, watched, now, reply, &executed_);
  }
  count_executed(*command.entry);
  gate_.reply(from, command.address, result.rests_on, reply_, {arrived, static_cast<std::size_t>(LatencyClass::write)});
  return result;
}

/// The session counts the error of a whole reply, the batch the call of EXEC; nobody else sees those inside it.
void Shard::count_executed(const CommandEntry& exec) {
  if (reply_.front() == '-') stats_.commands[static_cast<std::size_t>(exec.id)].failed.add();
  for (const ExecutedCommand& done : executed_) {
    const std::string_view answer = std::string_view(reply_).substr(done.reply_begin);
    const bool failed = answer.front() == '-';
    stats_.commands[static_cast<std::size_t>(done.entry->id)].calls.add();
    if (failed) stats_.count_error(answer);
    count(*done.entry, done.result, failed);
  }
  executed_.clear();
}

/// A page of what does not sell. It rests on everything: it also tells what did not need to be told.
void Shard::run_first_notices(const StepCommand& command, ThreadIndex from, const Now& now) {
  std::uint64_t cursor = 0;
  CHECK(parse_canonical(command.words[1], UINT64_MAX, cursor));
  std::uint64_t position = inventory_.place().position(cursor);
  const std::uint64_t end = inventory_.positions_end();
  const std::uint64_t page_end = std::min<std::uint64_t>(end, position + kNoticePageItems);
  std::string page = NoticePage::begin();
  for (; position < page_end; ++position) {
    Item* item = inventory_.at_position(position, now);
    if (item == nullptr) continue;
    // Who reads this page sees the middle of the open group, so that its end is told in any case.
    if (item->touched) item->announced = Selling::unknown;
    if (selling_of(*item) == Selling::reopened) continue;
    NoticePage::add(page, notice_json(make_notice(*item)));
  }
  NoticePage::set_next(page, inventory_.place().cursor(position, end));
  gate_.reply(from, command.address, inventory_.all_rest_on(), page);
}

void Shard::keep_notices() {
  auto notices = inventory_.take_notices();
  if (!notices.empty()) notices_.push_back({open_->ordinal(), std::move(notices)});
}

void Shard::release_notices(GroupOrdinal durable) {
  for (; !notices_.empty() && notices_.front().group <= durable; notices_.pop_front()) {
    auto& notices = notices_.front().notices;
    std::move(notices.begin(), notices.end(), std::back_inserter(ready_notices_));
  }
}

}  // namespace holdfast
