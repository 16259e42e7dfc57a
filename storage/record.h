// Records of the log in memory: what changed, with everything a reader needs to apply or forward it, and nothing that
// depends on the machine or on the number of shards. storage/README.md draws how they lie on disk.
//
// The inventory's step emits records into a RecordSink; the log's reader drives a RecordVisitor with the same structs.
// String views point into the arguments of the step, or into the reader's buffer, and are valid for the call only.
#pragma once

#include "protocol/names.h"
#include "protocol/types.h"

#include <optional>
#include <string>

namespace holdfast {

/// Where and when a record happened. `lsn` is none until the log has given it.
struct RecordStamp {
  Lsn lsn;
  HoldTime hold;
  WallTime wall;
  ItemNumber item;    // none for records of the whole log
  Sequence sequence;  // none for records that are no change of an item (forget, default returns, clock)
};

/// The four counters of an item; their sum is its total.
struct Counters {
  std::int64_t available = 0;
  std::int64_t reserved = 0;
  std::int64_t confirmed = 0;
  std::int64_t held = 0;
  bool operator==(const Counters&) const noexcept = default;
};

/// The law, as far as counters alone can tell: each >= 0 and their sum equal to `total`. Safe for any values.
bool lawful(const Counters& counters, std::int64_t total) noexcept;

enum class ItemState : std::uint8_t { draft = 0, ready = 1, open = 2, paused = 3, closed = 4 };
enum class LimitScope : std::uint8_t { item = 0, sale = 1 };

/// What LOAD gives an item and SET may change.
struct ItemDefinition {
  std::int64_t stock = 0;  // as loaded; ADJUST and the Redis view change the counters, not this
  std::int64_t limit = 1;  // units per user; 0: none
  LimitScope scope = LimitScope::item;
  Millis ttl{std::chrono::minutes(10)};
  Millis max_hold{std::chrono::minutes(30)};
  WallTime opens_at{};   // 0: unset
  WallTime closes_at{};  // 0: unset
  std::int64_t price = 0;
  std::string currency;
  std::string sale;
  std::string product;
  /// A user may have one live reservation, and no quantity but 1.
  bool is_exclusive() const noexcept { return limit == 1 && scope == LimitScope::item; }
  bool operator==(const ItemDefinition&) const = default;
};

enum class ItemEvent : std::uint8_t {
  load = 1,  // a new version, in DRAFT; sequence 1
  ready = 2,
  open = 3,  // by command or by its window (by_window)
  pause = 4,
  close = 5,     // by command or by its window (by_window)
  drop = 6,      // the last record of a version; a tombstone stays
  adjust = 7,    // delta, adjust_id, reason
  set = 8,       // a field of the definition
  stock = 9,     // the Redis view's SET, INCRBY, DECRBY: delta
  returns = 10,  // held or freed; delta: units that moved from held to available
  fence = 11,
  unfence = 12,
};

/// A change of an item as a whole. Carries the whole definition and the name, so that a reader may start here.
struct ItemRecord {
  ItemEvent event{};
  bool by_window = false;
  std::string_view name;
  ItemVersion version;
  ItemState state{};  // after
  bool returns_held = false;
  bool fenced = false;
  ItemDefinition definition;
  Counters after;
  std::int64_t total = 0;   // after; differs from the sum of `after` only where a fence says so
  std::int64_t delta = 0;   // adjust, stock, returns
  ReservationId adjust_id;  // adjust
  std::string_view reason;  // adjust; at most 256 bytes
};

enum class ReservationState : std::uint8_t {
  none = 0,
  reserved = 1,
  confirmed = 2,
  released = 3,
  expired = 4,
  refunded = 5
};

enum class ReservationEvent : std::uint8_t {
  reserve = 1,
  confirm = 2,
  resume = 3,  // EXPIRED -> CONFIRMED
  release = 4,
  expire = 5,
  refund = 6,
  extend = 7,
};

/// A change of one reservation.
struct ReservationRecord {
  ReservationEvent event{};
  bool exclusive = false;  // reserve, resume: limit 1 and scope item at the time
  bool write_off = false;  // release, refund: the units left the total
  ReservationId id;
  UserId user;
  Quantity quantity;
  std::optional<HoldTime> deadline;  // reserve, extend: the new one; nothing: no deadline
  Counters after;
};

/// Ended reservations whose last sequence is at most `through` are forgotten. No sequence of its own.
struct ForgetRecord {
  Sequence through;
  std::uint32_t count = 0;  // 1..1,024
};

/// What new items inherit as their RETURNS flag.
struct DefaultReturnsRecord {
  bool held = false;
};

/// Index of a record within its open group, from 0.
using RecordPosition = std::uint32_t;

/// Takes the records of a step in order. Implementations encode them or keep them; none of them may refuse.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual RecordPosition on_item(const RecordStamp& stamp, const ItemRecord& record) = 0;
  virtual RecordPosition on_reservation(const RecordStamp& stamp, const ReservationRecord& record) = 0;
  virtual RecordPosition on_forget(const RecordStamp& stamp, const ForgetRecord& record) = 0;
  virtual RecordPosition on_default_returns(const RecordStamp& stamp, const DefaultReturnsRecord& record) = 0;
};

/// Is driven by a reader of the log, in LSN order. An error stops the reader, which adds file and offset.
class RecordVisitor {
 public:
  virtual ~RecordVisitor() = default;
  virtual Result<void> on_item(const RecordStamp& stamp, const ItemRecord& record) = 0;
  virtual Result<void> on_reservation(const RecordStamp& stamp, const ReservationRecord& record) = 0;
  virtual Result<void> on_forget(const RecordStamp& stamp, const ForgetRecord& record) = 0;
  virtual Result<void> on_default_returns(const RecordStamp& stamp, const DefaultReturnsRecord& record) = 0;
};

/// "LOAD", "RESERVE" ... as listings and streams show them.
std::string_view event_name(ItemEvent event) noexcept;
std::string_view event_name(ReservationEvent event) noexcept;
/// Takes whatever comes.
class RecordAcceptor : public RecordVisitor {
 public:
  Result<void> on_item(const RecordStamp&, const ItemRecord&) override { return {}; }
  Result<void> on_reservation(const RecordStamp&, const ReservationRecord&) override { return {}; }
  Result<void> on_forget(const RecordStamp&, const ForgetRecord&) override { return {}; }
  Result<void> on_default_returns(const RecordStamp&, const DefaultReturnsRecord&) override { return {}; }
};

/// "DRAFT", "RESERVED" ... as replies show them; "item", "sale" for a scope.
std::string_view state_name(ItemState state) noexcept;
std::string_view state_name(ReservationState state) noexcept;
std::string_view scope_name(LimitScope scope) noexcept;

}  // namespace holdfast
