// What the log says, as sinks take it: one Event for each change of an item or a reservation, in the log's order, with
// all that a row or a message needs. Times are the wall clock's. Values; any thread.
#pragma once

#include "storage/record.h"

#include <memory>
#include <variant>
#include <vector>

namespace holdfast {

/// One version of an item as it stood after an event. The name is as in the log, not yet escaped.
struct ItemFacts {
  ItemNumber number;
  std::string name;
  ItemVersion version;
  ItemState state{};
  bool dropped = false;
  bool returns_held = false;
  bool fenced = false;
  ItemDefinition definition;
  bool operator==(const ItemFacts&) const = default;
};
using ItemFactsPointer = std::shared_ptr<const ItemFacts>;

/// A change of one reservation.
struct ReservationChange {
  ReservationEvent event{};
  ReservationId id;
  std::string user;  // as it came in, not escaped
  Quantity quantity;
  bool exclusive = false;              // reserve, resume
  bool write_off = false;              // release, refund
  std::optional<WallTime> expires_at;  // reserve, extend; nothing: no deadline
};

/// A change of an item as a whole.
struct ItemChange {
  ItemEvent event{};
  bool by_window = false;   // open, close
  std::int64_t delta = 0;   // adjust, stock, returns
  ReservationId adjust_id;  // adjust
  std::string reason;       // adjust
};

struct Event {
  Lsn lsn;
  ItemFactsPointer item;  // never null
  Sequence sequence;
  WallTime at;
  Counters after;
  std::variant<ReservationChange, ItemChange> change;

  const ReservationChange* reservation() const noexcept { return std::get_if<ReservationChange>(&change); }
  const ItemChange* item_change() const noexcept { return std::get_if<ItemChange>(&change); }
  /// "RESERVE", "LOAD" ...
  std::string_view name() const noexcept;
  bool is(ItemEvent event) const noexcept;
  bool is(ReservationEvent event) const noexcept;
};

// Events of records. `item` is what the record's number means, as it is after it.
ItemFactsPointer facts_of(const RecordStamp& stamp, const ItemRecord& record);
Event event_of(const RecordStamp& stamp, const ItemRecord& record, ItemFactsPointer item);
Event event_of(const RecordStamp& stamp, const ReservationRecord& record, ItemFactsPointer item);

/// A piece of the log: its events, and the LSN through which they are all there are.
struct EventBatch {
  std::vector<Event> events;
  Lsn through;
};

/// Units of an item, whatever they are at the moment.
std::int64_t total(const Counters& counters) noexcept;

}  // namespace holdfast
