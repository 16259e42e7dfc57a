// What of an item's events there is room for, found in memory instead of by asking the database event by event. Pure; any
// thread.
#pragma once

#include "replication/parked_chain.h"

#include <functional>

namespace holdfast {

/// What an item's row has.
struct ItemRoom {
  std::int64_t quantity = 0;
  std::int64_t sold = 0;

  /// Takes what the step moves, unless there is no room for it.
  bool take(const EventStep& step);
};

enum class StepFate : std::uint8_t {
  write,
  park,
  follow,  // what is parked of the same reservation
};
struct PlannedStep {
  StepFate fate{};
  ItemRoom room;  // after it
};

/// What is parked of an event's reservation; null: nothing.
using OpenChain = std::function<const ParkedChain*(const Event&)>;

/// Of the first of the steps, in the log's order: those that can be carried out together. All are of one item. `room`:
/// nothing when the item has no row that could be written. Ends before a reservation that comes back after its chain has
/// ended, and behind the end of a chain that moves the item's room. REQUIRES: steps.
std::vector<PlannedStep> plan_steps(std::span<const EventStep> steps, std::optional<ItemRoom> room,
                                    const OpenChain& open_chain);

}  // namespace holdfast
