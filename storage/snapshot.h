// What a snapshot says, in memory: the whole state after one LSN, and of which log. storage/README.md draws the file.
//
// Whoever has a state drives a SnapshotVisitor with it: SnapshotWriter makes the file, an inventory takes the state over.
// String views are valid for the call only. Order of the calls:
//
//   on_log, on_name ..., on_version ..., then for each item: on_item, on_row ..., on_order ..., on_adjust ..., on_item_end
#pragma once

#include "storage/hold_clock.h"
#include "storage/log_identity.h"
#include "storage/record.h"
#include "storage/state_hash.h"

#include <span>

namespace holdfast {

/// What every reader needs before anything else.
struct SnapshotHeader {
  LogIdentity log;
  Lsn lsn;                        // the state after this record
  std::uint64_t incarnation = 0;  // that wrote it
  ClockPoint clocks;              // of the batch that ends with it
  StateHash state;                // as that batch says
};

struct SnapshotLog {
  ItemNumber item_number_max;  // the highest ever given
  bool returns_held = false;   // what new items inherit
};

/// A name that was ever loaded, in the order of the first LOADs. Without an item of this version it is a tombstone.
struct SnapshotName {
  std::string_view name;
  ItemVersion version;
};

/// An item version with records in the log that was kept: what readers of the log need to know to name it.
struct SnapshotVersion {
  ItemNumber item;
  ItemVersion version;
  Lsn last;  // its last record
  std::string_view name;
  ItemDefinition definition;
};

struct SnapshotItem {
  ItemNumber number;
  ItemVersion version;
  ItemState state{};
  bool returns_held = false;
  bool fenced = false;
  Sequence sequence;
  HoldTime base;            // of the LOAD: times of rows count from it
  std::uint32_t slots = 0;  // rows have slots below this; those without a row are free
  Counters counters;
  std::int64_t total = 0;
  std::string_view name;
  ItemDefinition definition;
  ItemDefinition loaded;  // as LOAD gave it
};

/// A reservation of the item last told of. Slots ascend.
struct SnapshotRow {
  std::uint32_t slot = 0;
  ReservationState state{};
  bool exclusive = false;
  bool is_newest_expired = false;  // the one that RESUME without an id takes up
  bool is_newest_of_sale = false;  // the user's newest live one over all items of the sale
  ReservationId id;
  UserId user;
  std::int64_t quantity = 0;
  HoldTime created;
  std::optional<HoldTime> time;  // deadline of a RESERVED one, nothing: none; when an ended one ended
  Sequence sequence;             // of its last change
  Lsn lsn;                       // the same
};

/// How much a snapshot holds.
struct SnapshotTotals {
  std::uint64_t names = 0;
  std::uint64_t items = 0;
  std::uint64_t rows = 0;
  /// Sum modulo 2^128 of a hash per row and item: equal for equal reservations, in whatever slots they lie.
  StateHash rows_hash;
  bool operator==(const SnapshotTotals&) const noexcept = default;
};

/// An error of a call ends the driving, which gives it back.
class SnapshotVisitor {
 public:
  virtual ~SnapshotVisitor() = default;
  virtual Result<void> on_log(const SnapshotLog& log) = 0;
  virtual Result<void> on_name(const SnapshotName& name) = 0;
  virtual Result<void> on_version(const SnapshotVersion& version) = 0;
  virtual Result<void> on_item(const SnapshotItem& item) = 0;
  virtual Result<void> on_row(const SnapshotRow& row) = 0;
  /// Slots of live rows of users with several. Taken one after another and put before the user's others of that state,
  /// they come to stand newest first.
  virtual Result<void> on_order(std::span<const std::uint32_t> slots) = 0;
  /// Oldest first.
  virtual Result<void> on_adjust(const ReservationId& id, std::int64_t delta) = 0;
  virtual Result<void> on_item_end() = 0;
};

/// Takes whatever comes.
class SnapshotAcceptor : public SnapshotVisitor {
 public:
  Result<void> on_log(const SnapshotLog&) override { return {}; }
  Result<void> on_name(const SnapshotName&) override { return {}; }
  Result<void> on_version(const SnapshotVersion&) override { return {}; }
  Result<void> on_item(const SnapshotItem&) override { return {}; }
  Result<void> on_row(const SnapshotRow&) override { return {}; }
  Result<void> on_order(std::span<const std::uint32_t>) override { return {}; }
  Result<void> on_adjust(const ReservationId&, std::int64_t) override { return {}; }
  Result<void> on_item_end() override { return {}; }
};

}  // namespace holdfast
