#include "replication/event.h"

namespace holdfast {

std::string_view Event::name() const noexcept {
  const auto* const of_reservation = reservation();
  return of_reservation != nullptr ? event_name(of_reservation->event) : event_name(item_change()->event);
}

bool Event::is(ItemEvent event) const noexcept {
  const auto* const of_item = item_change();
  return of_item != nullptr && of_item->event == event;
}

bool Event::is(ReservationEvent event) const noexcept {
  const auto* const of_reservation = reservation();
  return of_reservation != nullptr && of_reservation->event == event;
}

std::int64_t total(const Counters& counters) noexcept {
  return counters.available + counters.reserved + counters.confirmed + counters.held;
}

}  // namespace holdfast
