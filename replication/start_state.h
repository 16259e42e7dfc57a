// The state with which a sink begins that does not get the log from its first record: what a snapshot says, as items and
// rows of orders. Pure but for reading the snapshot; one thread.
#pragma once

#include "replication/order_change.h"
#include "storage/snapshot_reader.h"

#include <span>

namespace holdfast {

/// An item as it stands in the snapshot.
struct StartItem {
  ItemFactsPointer facts;
  Sequence sequence;  // of its last change: the next event of it has the one after
  Counters counters;
};

/// Whoever takes a start state. An error of a call ends the reading, which gives it back.
class StartVisitor {
 public:
  virtual ~StartVisitor() = default;
  virtual Result<void> on_item(const StartItem& item) = 0;
  /// Reservations of the item last told of, at most kBatchEventsMax, as changes from nothing. What is not in a snapshot:
  /// price, currency and sale are those that the item has now; `last_at` of what is live is when it was reserved.
  virtual Result<void> on_orders(const StartItem& item, std::span<const OrderChange> orders) = 0;
};

/// A snapshot that was read from a server and checked.
class StartState {
 public:
  /// `progress` is called often while it is read. The snapshot outlives this.
  explicit StartState(SnapshotReader& snapshot, SnapshotReader::Progress progress = {})
      : snapshot_(snapshot), progress_(std::move(progress)) {}

  const LogId& log() const noexcept { return snapshot_.header().log.id; }
  Lsn lsn() const noexcept { return snapshot_.header().lsn; }
  /// When it was, on the wall clock.
  WallTime at() const noexcept;
  /// May be called again. Errors: damaged, io_failed, the visitor's.
  Result<void> read(StartVisitor& visitor);

 private:
  SnapshotReader& snapshot_;
  SnapshotReader::Progress progress_;
};

}  // namespace holdfast
