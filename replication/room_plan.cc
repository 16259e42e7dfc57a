#include "replication/room_plan.h"

#include "protocol/check.h"

#include <set>

namespace holdfast {

bool ItemRoom::take(const EventStep& step) {
  const auto* const reservation = step.event->reservation();
  const std::int64_t quantity_after = quantity + step.stock_delta;
  const std::int64_t sold_after = sold + (reservation == nullptr ? 0 : sold_delta(*reservation));
  if (sold_after < 0 || sold_after > quantity_after) return false;
  quantity = quantity_after;
  sold = sold_after;
  return true;
}

std::vector<PlannedStep> plan_steps(std::span<const EventStep> steps, std::optional<ItemRoom> room,
                                    const OpenChain& open_chain) {
  CHECK(!steps.empty());
  std::vector<PlannedStep> plan;
  std::set<ReservationId> parked;  // by this plan
  std::set<ReservationId> ended;   // whose chains end in it
  for (const EventStep& step : steps) {
    const auto* const reservation = step.event->reservation();
    if (reservation != nullptr && ended.contains(reservation->id)) break;
    const ParkedChain* const chain = reservation == nullptr ? nullptr : open_chain(*step.event);
    const bool follows = chain != nullptr || (reservation != nullptr && parked.contains(reservation->id));
    const bool fits = !follows && room && room->take(step);
    const StepFate fate = follows ? StepFate::follow : fits ? StepFate::write : StepFate::park;
    plan.push_back({fate, room.value_or(ItemRoom())});
    if (fits || reservation == nullptr) continue;
    parked.insert(reservation->id);
    if (!ends(reservation->event)) continue;
    ended.insert(reservation->id);
    const bool chain_moves = chain != nullptr && (chain->stock_delta != 0 || chain->holds_row());
    if (chain_moves || step.stock_delta != 0 || !follows) break;
  }
  return plan;
}

}  // namespace holdfast
