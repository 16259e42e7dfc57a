// EXEC at the owner of the item: the queued commands as one step. Their records stay in one group, which the log keeps or
// loses whole; their replies are one array, which rests on all that it tells. No I/O, no clock.
#pragma once

#include "server/step.h"
#include "server/transaction.h"
#include "storage/limits.h"

#include <boost/unordered/unordered_flat_map.hpp>

#include <vector>

namespace holdfast {

/// What WATCH remembers of an item: zeros where there is none.
struct WatchMark {
  ItemVersion version;
  Sequence sequence;
  bool operator==(const WatchMark&) const noexcept = default;
};

/// REQUIRES: `item` is not empty.
WatchMark watch_mark(Inventory& inventory, std::string_view item, const Now& now);

/// A command of a transaction, of those that were executed.
struct ExecutedCommand {
  const CommandEntry* entry;
  StepResult result;
  std::size_t reply_begin;  // where its reply begins in the reply's bytes
};

/// Executes what Transaction::pack made. First what is due of the item expires; then, if it is watched, an item that is
/// not as `watched` says answers null. Refusals of commands are elements of the array. RESERVATION WAIT does not wait.
/// Adds to `executed`, if there is one, what was executed. The result's item is the one that its commands looked up last.
StepResult run_transaction(Inventory& inventory, Words packed, const WatchMark& watched, const Now& now,
                           ReplyWriter& reply, std::vector<ExecutedCommand>* executed = nullptr);

/// The records of one transaction take no more bytes in a group.
inline constexpr std::size_t kTransactionRecordBytesMax =
    Inventory::kDueMax * (kReservationRecordBytesMax + kClockRecordBytes) +
    kTransactionCommandsMax * kStepRecordsMax * (kRecordBytesMax + kClockRecordBytes);
static_assert(kTransactionRecordBytesMax < kBatchBytesMax / 8, "every transaction fits a group that is nearly empty");

}  // namespace holdfast
