// The items of a reconcile: what the tables say of each, and what the comparison adds up for it. One thread.
#pragma once

#include "replication/event.h"
#include "replication/outside_id.h"

#include <boost/unordered/unordered_flat_map.hpp>

namespace holdfast {

/// Counters of an item as they were after a change.
struct CountersAt {
  Sequence sequence;
  Counters counters;
  std::int64_t total = 0;
};

/// The row of flash_sale_item.
struct ItemRowFound {
  ItemVersion version;
  std::int64_t quantity = 0;
  std::int64_t sold = 0;
};

struct ReconcileItem {
  // holdfast_item: what the tables are to show.
  ItemFactsPointer facts;
  std::string item;      // outside text
  std::string item_id;   // empty when it is refused
  std::string kept_out;  // why it is refused, where that can change: foreign_row, refused: and what the database said
  bool live = false;
  Sequence sequence;  // the tables have everything through here
  Sequence begins;    // and the journal what is after this
  bool refused() const noexcept { return item_id.empty(); }

  std::optional<ItemRowFound> row;  // flash_sale_item; of whatever version

  // What the server says.
  bool whole = false;  // every reservation of it was told of
  std::optional<CountersAt> counters;

  // Sums.
  std::int64_t sold = 0;  // what the row is to say; begins with what it said when it was taken over
  std::int64_t reserved = 0;
  std::int64_t confirmed = 0;
  std::uint64_t journal_rows = 0;
  std::uint64_t gaps = 0;
};

/// What is parked, or was.
struct ChainFact {
  bool open = false;
  Sequence first;  // of an open one
  Sequence last;   // of the last that was closed
};

struct ReconcileKey {
  ItemNumber number;
  ReservationId id;
  bool operator==(const ReconcileKey&) const noexcept = default;
};
struct ReconcileKeyHash {
  std::size_t operator()(const ReconcileKey& key) const noexcept;
};

using ReconcileItems = boost::unordered_flat_map<std::uint64_t, ReconcileItem>;  // by number
using ReconcileChains = boost::unordered_flat_map<ReconcileKey, ChainFact, ReconcileKeyHash>;

}  // namespace holdfast
