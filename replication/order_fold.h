// A batch of events as the fewest changes of rows: one for each reservation, one for each item. Pure; any thread.
#pragma once

#include "replication/order_change.h"

#include <span>

namespace holdfast {

/// An event, and by how much it moves the item's total: ADJUST, writes of the Redis view, WRITEOFF.
struct EventStep {
  const Event* event = nullptr;
  std::int64_t stock_delta = 0;
};

/// All that a batch does to an item's row.
struct ItemSum {
  ItemFactsPointer item;  // as it is after it
  std::int64_t stock_delta = 0;
  std::int64_t sold_delta = 0;
  Sequence last;
  WallTime last_at;
  bool described = false;  // its state or definition may have changed, too
};

/// In the order in which rows are to be written: what ends comes before what begins, so that a user's second order does
/// not meet his first one.
struct OrderFold {
  std::vector<OrderChange> updates;  // of rows that are there and were not resumed, or ended again
  std::vector<OrderChange> resumes;  // of rows that are there and were resumed
  std::vector<OrderChange> inserts;
  std::vector<ItemSum> items;

  bool empty() const noexcept { return items.empty(); }
};

/// The steps in the log's order. An error, `damaged`, when they contradict each other.
Result<OrderFold> fold_steps(std::span<const EventStep> steps);

}  // namespace holdfast
