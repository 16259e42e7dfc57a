#include "replication/order_change.h"

#include "protocol/check.h"

#include <array>

namespace holdfast {
namespace {

constexpr std::array<std::string_view, 5> kStatusNames = {"PENDING", "PAID", "EXPIRED", "CANCELLED", "REFUNDED"};

struct Transition {
  OrderStatus from;
  OrderStatus to;
};

/// REQUIRES: not reserve, which begins a row.
Transition transition_of(ReservationEvent event) noexcept {
  switch (event) {
    case ReservationEvent::confirm:
      return {OrderStatus::pending, OrderStatus::paid};
    case ReservationEvent::resume:
      return {OrderStatus::expired, OrderStatus::paid};
    case ReservationEvent::release:
      return {OrderStatus::pending, OrderStatus::cancelled};
    case ReservationEvent::expire:
      return {OrderStatus::pending, OrderStatus::expired};
    case ReservationEvent::refund:
      return {OrderStatus::paid, OrderStatus::refunded};
    case ReservationEvent::extend:
      return {OrderStatus::pending, OrderStatus::pending};
    case ReservationEvent::reserve:
      break;
  }
  CHECK(false);
}

void note_last(OrderChange& change, const Event& event) {
  change.last = event.sequence;
  change.last_lsn = event.lsn;
  change.last_at = event.at;
}

/// What a RESERVE says of the new row.
void begin_life(OrderChange& change, const Event& event) {
  const ReservationChange& reserve = *event.reservation();
  const ItemDefinition& definition = event.item->definition;
  change.user = reserve.user;
  change.quantity = reserve.quantity;
  change.to = OrderStatus::pending;
  change.sets_expiry = true;
  change.expires_at = reserve.expires_at;
  change.exclusive = reserve.exclusive;
  change.price = definition.price;
  change.currency = definition.currency;
  change.sale = definition.sale;
  change.reserved_at = event.at;
}

/// What an event of a row that is there says beside the status.
void note_terms(OrderChange& change, const ReservationChange& event) {
  if (event.event == ReservationEvent::resume) change.exclusive = event.exclusive;
  if (event.event != ReservationEvent::extend) return;
  change.sets_expiry = true;
  change.expires_at = event.expires_at;
}

}  // namespace

std::string_view status_name(OrderStatus status) noexcept { return kStatusNames[static_cast<std::size_t>(status)]; }

std::optional<OrderStatus> parse_status(std::string_view text) noexcept {
  for (std::size_t i = 0; i < kStatusNames.size(); ++i) {
    if (kStatusNames[i] == text) return static_cast<OrderStatus>(i);
  }
  return std::nullopt;
}

OrderStatus status_of(ReservationState state) {
  switch (state) {
    case ReservationState::reserved:
      return OrderStatus::pending;
    case ReservationState::confirmed:
      return OrderStatus::paid;
    case ReservationState::released:
      return OrderStatus::cancelled;
    case ReservationState::expired:
      return OrderStatus::expired;
    case ReservationState::refunded:
      return OrderStatus::refunded;
    case ReservationState::none:
      break;
  }
  CHECK(false);
}

bool is_live(OrderStatus status) noexcept { return status == OrderStatus::pending || status == OrderStatus::paid; }

bool ends(ReservationEvent event) noexcept {
  return event != ReservationEvent::reserve && !is_live(transition_of(event).to);
}

std::int64_t sold_delta(const ReservationChange& change) noexcept {
  if (change.event == ReservationEvent::reserve) return change.quantity.value();
  const Transition transition = transition_of(change.event);
  return (int{is_live(transition.to)} - int{is_live(transition.from)}) * change.quantity.value();
}

std::int64_t OrderChange::sold_delta() const noexcept {
  const int after = is_live(to) ? 1 : 0;
  const int before = from && is_live(*from) ? 1 : 0;
  return (after - before) * quantity.value();
}

OrderChange begin_change(const Event& event) {
  CHECK(event.reservation() != nullptr);
  const ReservationChange& first = *event.reservation();
  OrderChange change;
  change.item = event.item->number;
  change.id = first.id;
  change.first = event.sequence;
  note_last(change, event);
  if (first.event == ReservationEvent::reserve) {
    begin_life(change, event);
    return change;
  }
  const Transition transition = transition_of(first.event);
  change.user = first.user;
  change.quantity = first.quantity;
  change.from = transition.from;
  change.to = transition.to;
  note_terms(change, first);
  return change;
}

Result<void> follow_change(OrderChange& change, const Event& event) {
  CHECK(event.reservation() != nullptr && event.item->number == change.item && event.reservation()->id == change.id);
  const ReservationChange& next = *event.reservation();
  const auto impossible = [&] {
    return Error::format(ErrorCode::damaged, "LSN {}: {} of a reservation that is {} in what came before it",
                         event.lsn.value(), event.name(), status_name(change.to));
  };
  if (next.event == ReservationEvent::reserve) {
    if (is_live(change.to)) return impossible();
    begin_life(change, event);
    note_last(change, event);
    return {};
  }
  const Transition transition = transition_of(next.event);
  const bool same_body = next.user == change.user && next.quantity == change.quantity;
  if (change.to != transition.from || !same_body) return impossible();
  change.to = transition.to;
  note_terms(change, next);
  note_last(change, event);
  return {};
}

}  // namespace holdfast
