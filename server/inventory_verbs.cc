// CONFIRM, RELEASE, REFUND, EXTEND and the look-ups they share: what may become of a reservation once it is made.
//
//   RESERVED --CONFIRM--> CONFIRMED --REFUND--> REFUNDED
//      |  \--RELEASE--> RELEASED      ^
//      \------due-----> EXPIRED ------/ CONFIRM ... RESUME
#include "server/inventory.h"

#include <algorithm>

namespace holdfast {
namespace {

VerbOutcome ended_outcome(ReservationState state) noexcept {
  switch (state) {
    case ReservationState::released:
      return VerbOutcome::released;
    case ReservationState::expired:
      return VerbOutcome::expired;
    case ReservationState::refunded:
      return VerbOutcome::refunded;
    default:
      return VerbOutcome::none_live;
  }
}

}  // namespace

Result<std::optional<RowSlot>> Inventory::look_up(Item& item, const ReservationId& id, const Now& now) {
  const auto slot = item.rows->find(id);
  if (slot) HOLDFAST_TRY(expire_if_due(item, *slot, now));
  return slot;
}

Result<std::optional<RowSlot>> Inventory::look_up(Item& item, const UserId& user, const Now& now) {
  UserRows rows = item.rows->find_user(user);
  if (rows.reserved == 1) HOLDFAST_TRY(expire_if_due(item, *rows.newest_reserved, now));
  if (rows.reserved > 1 && due(item, now) && !item.fenced) HOLDFAST_TRY(settle(item, now));
  if (rows.reserved > 0) rows = item.rows->find_user(user);
  if (rows.reserved > 1) {
    return Error::format(ErrorCode::err, "user has {} live reservations; name one by ID", rows.reserved);
  }
  return rows.newest_reserved ? rows.newest_reserved : rows.newest_confirmed;
}

/// The reservation a verb names: by id, whose owner must be the user if one is given, or by the user's short form.
Result<std::optional<RowSlot>> Inventory::addressed(Item& item, const VerbRequest& request, const Now& now) {
  if (!request.id) return look_up(item, *request.user, now);
  const auto slot = item.rows->find(*request.id);
  if (!slot) return slot;
  if (request.user && !item.rows->is_user(*slot, *request.user)) {
    return Error(ErrorCode::id_mismatch, "user: this ID belongs to another user");
  }
  HOLDFAST_TRY(expire_if_due(item, *slot, now));
  return slot;
}

Result<VerbAnswer> Inventory::confirm(Item& item, const VerbRequest& request, const Now& now) {
  if (item.fenced) return fenced(item);
  const auto slot = addressed(item, request, now);
  if (!slot) return slot.error();
  if (!*slot) {
    if (!request.resume || request.id) return VerbAnswer{VerbOutcome::none_live, {}};
    const auto expired = item.rows->find_user(*request.user).newest_expired;
    if (!expired) return VerbAnswer{VerbOutcome::none_live, {}};
    return resume(item, *expired, request, now);
  }
  switch (item.rows->row(**slot).state()) {
    case ReservationState::reserved:
      break;
    case ReservationState::confirmed:
      return VerbAnswer{VerbOutcome::done, *slot};
    case ReservationState::expired:
      if (request.resume) return resume(item, **slot, request, now);
      [[fallthrough]];
    default:
      return VerbAnswer{ended_outcome(item.rows->row(**slot).state()), {}};
  }
  ReservationRecord record = record_of(item, **slot, ReservationEvent::confirm);
  HOLDFAST_TRY(change(item, *slot, record, now));
  return VerbAnswer{VerbOutcome::done, *slot};
}

/// Takes the units and the allowance of an expired reservation again, if both are there.
Result<VerbAnswer> Inventory::resume(Item& item, RowSlot slot, const VerbRequest& request, const Now& now) {
  const VerbAnswer refused{request.id ? VerbOutcome::expired : VerbOutcome::none_live, {}};
  const UserId user = item.rows->user(slot);
  const std::int64_t quantity = item.rows->quantity(slot);
  const auto allowed = limit_allows(item, user, quantity, now);
  if (!allowed) return allowed.error();
  if (!*allowed) return refused;
  const auto available = has_available(item, quantity, now);
  if (!available) return available.error();
  if (!*available) return refused;
  HOLDFAST_TRY(may_go_on(item));
  // What expired meanwhile may have made room by forgetting this one.
  if (item.rows->row(slot).state() != ReservationState::expired) return refused;
  ReservationRecord record = record_of(item, slot, ReservationEvent::resume);
  record.exclusive = item.definition.is_exclusive();
  HOLDFAST_TRY(change(item, slot, record, now));
  return VerbAnswer{VerbOutcome::done, slot};
}

/// RELEASE and REFUND: units come back from the one live state that the verb is for.
Result<VerbAnswer> Inventory::act(Item& item, const VerbRequest& request, ReservationEvent event, const Now& now) {
  if (item.fenced) return fenced(item);
  const auto slot = addressed(item, request, now);
  if (!slot) return slot.error();
  if (!*slot) return VerbAnswer{VerbOutcome::none_live, {}};
  const Row& row = item.rows->row(**slot);
  if (!row.live()) return VerbAnswer{ended_outcome(row.state()), {}};
  const auto acts_on = event == ReservationEvent::release ? ReservationState::reserved : ReservationState::confirmed;
  if (row.state() != acts_on) return VerbAnswer{VerbOutcome::other_verb, {}};
  ReservationRecord record = record_of(item, **slot, event);
  record.write_off = request.write_off;
  HOLDFAST_TRY(change(item, *slot, record, now));
  return VerbAnswer{VerbOutcome::done, *slot};
}

Result<VerbAnswer> Inventory::release(Item& item, const VerbRequest& request, const Now& now) {
  return act(item, request, ReservationEvent::release, now);
}

Result<VerbAnswer> Inventory::refund(Item& item, const VerbRequest& request, const Now& now) {
  return act(item, request, ReservationEvent::refund, now);
}

Result<VerbAnswer> Inventory::extend(Item& item, const VerbRequest& request, const Now& now) {
  if (item.fenced) return fenced(item);
  const auto slot = addressed(item, request, now);
  if (!slot) return slot.error();
  if (!*slot) return VerbAnswer{VerbOutcome::none_live, {}};
  const ReservationState state = item.rows->row(**slot).state();
  if (state == ReservationState::confirmed) return VerbAnswer{VerbOutcome::other_verb, {}};
  if (state != ReservationState::reserved) return VerbAnswer{ended_outcome(state), {}};
  const auto old = item.rows->deadline(**slot);
  if (!old) return Error(ErrorCode::err, "this reservation has no deadline to extend");
  const HoldTime asked = now.hold + now.round_up + std::min(request.ttl, kHoldMax);
  const HoldTime deadline = std::min(asked, item.rows->created(**slot) + item.definition.max_hold);
  if (deadline <= *old) return VerbAnswer{VerbOutcome::done, *slot};
  if (!item.rows->fits(deadline)) {
    return Error(ErrorCode::err, "this version was loaded too long ago to hold this deadline; load a new version");
  }
  HOLDFAST_TRY(may_go_on(item));
  ReservationRecord record = record_of(item, **slot, ReservationEvent::extend);
  record.deadline = deadline;
  HOLDFAST_TRY(change(item, *slot, record, now));
  return VerbAnswer{VerbOutcome::done, *slot};
}

}  // namespace holdfast
