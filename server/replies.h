// The maps that replies show: an item, a reservation, RESERVE's DETAILS. Keys in lower case, states in capitals, unset
// times 0, unset texts empty. Used by the steps.
#pragma once

#include "server/step_context.h"

namespace holdfast {

/// ITEM GET.
void write_item(StepContext& context, const Item& item);
/// ITEM VERIFY.
void write_verification(StepContext& context, const Verification& verification);
/// RESERVATION GET, LIST and WAIT.
void write_reservation(StepContext& context, const Item& item, RowSlot slot);
/// RESERVE ... DETAILS, for successes and refusals.
void write_reserve_details(StepContext& context, const Item& item, const ReserveAnswer& answer);
/// How far the last change of a reservation has come: done, when every registered sink has it or has parked it.
Stage stage_of(const Inventory& inventory, const Item& item, const Row& row);
/// The same with one sink.
SinkProgress progress_with(const Inventory& inventory, const SinkBoard::Entry& sink, const Item& item, const Row& row);

}  // namespace holdfast
