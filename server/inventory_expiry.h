// The loop that expires due reservations, shared by the inventory's files. Not for others.
#pragma once

#include "server/inventory.h"

namespace holdfast {

template <class More>
Result<void> Inventory::expire_due(Item& item, const Now& now, int& budget, More more) {
  while (budget > 0 && due(item, now) && more()) {
    const auto slot = item.rows->earliest_deadline();
    if (!slot || *item.rows->deadline(*slot) > now.hold) break;
    HOLDFAST_TRY(change(item, slot, record_of(item, *slot, ReservationEvent::expire), now));
    --budget;
  }
  return {};
}

}  // namespace holdfast
