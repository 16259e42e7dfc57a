// The loop that expires due reservations, shared by the inventory's files. Not for others.
#pragma once

#include "server/inventory.h"

namespace holdfast {

template <class More>
Result<void> Inventory::expire_due(Item& item, const Now& now, Budget& budget, More more) {
  while (budget.left() && due(item, now) && more()) {
    const auto slot = item.rows->earliest_due(now.hold, budget.looks);
    if (!slot) break;
    ReservationRecord record = record_of(item, *slot, ReservationEvent::expire);
    HOLDFAST_TRY(change(item, slot, record, now));
    --budget.changes;
  }
  return {};
}

}  // namespace holdfast
