// The items of a PostgreSQL sink as its table holdfast_item has them, kept in memory between batches: what reservations
// need to find their item's row, and what shows that no event is missing. One thread.
#pragma once

#include "replication/outside_id.h"
#include "replication/parked_chain.h"
#include "replication/sink_items.h"

#include <set>
#include <unordered_map>

namespace holdfast {

/// What is left of a row that was put aside (postgres_start.h) and is to be an item's again: what people did to it.
struct KeptRow {
  std::int64_t quantity_difference = 0;  // by how much they changed quantity
  std::int64_t sold_before = 0;          // what it had sold before it was taken over
};

struct KnownItem {
  ItemFactsPointer facts;
  std::string item_id;             // outside; empty when it is refused
  std::optional<Refusal> refused;  // why it has no row
  std::int64_t total = 0;
  Sequence sequence;
  Sequence begins{};  // what the tables began with: the journal has the sequences after it
  KeptRow kept{};     // of the row that it waits for, when it is refused
};

/// Pieces in which each LOAD comes before every other event of its name, so that versions do not mix.
std::vector<std::span<const Event>> split_at_loads(std::span<const Event> events);

class KnownItems {
 public:
  void put(KnownItem item);
  /// REQUIRES: known.
  const KnownItem& at(ItemNumber number) const;
  bool has(ItemNumber number) const { return items_.contains(number); }

  /// Those that may have a row as soon as what keeps it out is gone: another row, or a constraint.
  std::vector<const KnownItem*> without_place() const;

  /// Takes the events in turn: sequences without a gap, totals, facts. Items of LOADs must be known, at sequence 0. An
  /// error, `damaged`, for an event that is not the item's next one, or of an item that is not known.
  Result<std::vector<EventStep>> take(std::span<const Event> events);

  /// Numbers of what take() changed since the last call.
  std::set<ItemNumber> take_touched() { return std::exchange(touched_, {}); }
  /// Forgets what can change no more.
  void forget(ItemNumber number) { items_.erase(number); }

 private:
  std::unordered_map<ItemNumber, KnownItem> items_;
  std::set<ItemNumber> touched_;
};

}  // namespace holdfast
