// RESERVE: who gets a unit. The order of the checks is the documented order of the answers.
#include "server/inventory_expiry.h"

#include <algorithm>

namespace holdfast {

Result<ReserveAnswer> Inventory::reserve(Item& item, const ReserveRequest& request, const Now& now) {
  if (item.fenced) return fenced(item);
  if (request.id) {
    if (const auto slot = item.rows->find(*request.id)) {
      HOLDFAST_TRY(expire_if_due(item, *slot, now));
      return known_id(item, *slot, request);
    }
  }
  const auto allowed = limit_allows(item, request.user, request.quantity, now);
  if (!allowed) return allowed.error();
  if (!*allowed) {
    return request.details ? newest_live(item, request.user) : ReserveAnswer(ReserveOutcome::limit_reached, &item);
  }
  if (item.state != ItemState::open) return refuse(item, state_refusal(item.state), now);
  const auto available = has_available(item, request.quantity, now);
  if (!available) return available.error();
  if (!*available) return refuse(item, ReserveOutcome::sold_out, now);
  if (!log_fenced_.empty()) return Error(ErrorCode::fenced, log_fenced_);
  if (!overloaded_.empty()) return Error(ErrorCode::overloaded, overloaded_);
  HOLDFAST_TRY(may_go_on(item));

  ReservationRecord record;
  record.event = ReservationEvent::reserve;
  record.exclusive = item.definition.is_exclusive();
  record.id = request.id ? *request.id : id_maker_.make(now.wall, item.number, item.sequence.next());
  static_cast<void>(item.rows->ask_id(record.id));
  record.user = request.user;
  record.quantity = Quantity(request.quantity);
  const Millis ttl = std::min(request.ttl.value_or(item.definition.ttl), item.definition.max_hold);
  record.deadline = now.hold + now.round_up + ttl;
  if (!item.rows->fits(*record.deadline)) {
    return Error(ErrorCode::err, "this version was loaded too long ago to hold this deadline; load a new version");
  }
  const auto slot = change(item, {}, record, now);
  if (!slot) return slot.error();
  return {boost::system::in_place_value, ReserveOutcome::taken, &item, *slot};
}

/// Refused by what the item is: others are told, so that they need not ask.
ReserveAnswer Inventory::refuse(Item& item, ReserveOutcome outcome, const Now& now) {
  views_.refused(item, now);
  return {outcome, &item};
}

Result<ReserveAnswer> Inventory::known_id(const Item& item, RowSlot slot, const ReserveRequest& request) const {
  if (!item.rows->is_user(slot, request.user)) {
    return Error(ErrorCode::id_mismatch, "user: this ID belongs to another user");
  }
  if (item.rows->quantity(slot) != request.quantity) {
    return Error::format(ErrorCode::id_mismatch, "qty: this ID was reserved with QTY {}", item.rows->quantity(slot));
  }
  const auto outcome = item.rows->row(slot).live() ? ReserveOutcome::known : ReserveOutcome::ended;
  return ReserveAnswer{outcome, &item, slot};
}

std::int64_t Inventory::live_units(const Item& item, const UserId& user, const UserRows& rows) const {
  return item.sale != nullptr ? item.sale->units(user) : rows.units;
}

bool Inventory::within_limit(const Item& item, const UserId& user, const UserRows& rows, std::int64_t quantity) const {
  const std::int64_t limit = item.definition.limit;
  return limit == 0 || live_units(item, user, rows) + quantity <= limit;
}

/// Whether the user may have so many more; what of his is due expires before he is refused.
Result<bool> Inventory::limit_allows(Item& item, const UserId& user, std::int64_t quantity, const Now& now) {
  const std::int64_t limit = item.definition.limit;
  if (limit == 0) return true;
  if (quantity > limit) return false;
  const auto allowed = [&] {
    return within_limit(item, user, item.sale != nullptr ? UserRows() : item.rows->find_user(user), quantity);
  };
  if (allowed()) return true;
  if (due_.minimum() > static_cast<std::uint64_t>(to_ms(now.hold))) return false;
  Budget budget;
  const auto expire = [&](Item& other) { return expire_due(other, now, budget, [&] { return !allowed(); }); };
  if (item.sale == nullptr) {
    HOLDFAST_TRY(expire(item));
  } else {
    for (Item* other : item.sale->items) {
      if (!other->fenced) HOLDFAST_TRY(expire(*other));
    }
  }
  if (allowed()) return true;
  if (!budget.left()) return Error(ErrorCode::overloaded, "expiring, try again");
  return false;
}

/// Whether so many units are free, after as many due reservations have expired as it takes.
Result<bool> Inventory::has_available(Item& item, std::int64_t quantity, const Now& now) {
  const auto enough = [&] { return item.counters.available >= quantity; };
  if (enough()) return true;
  if (!due(item, now)) return false;
  Budget budget;
  HOLDFAST_TRY(expire_due(item, now, budget, [&] { return !enough(); }));
  if (enough()) return true;
  if (!budget.left()) return Error(ErrorCode::overloaded, "expiring, try again");
  return false;
}

/// The answer to a RESERVE over the limit, with what the user has.
ReserveAnswer Inventory::newest_live(const Item& item, const UserId& user) const {
  ReserveAnswer answer(ReserveOutcome::limit_reached, nullptr);
  const auto offer = [&](const Item& candidate) {
    const auto slot = candidate.rows->newest_live(candidate.rows->find_user(user));
    if (!slot) return;
    if (answer.owner != nullptr && answer.owner->rows->created(*answer.slot) > candidate.rows->created(*slot)) return;
    answer.owner = &candidate;
    answer.slot = slot;
  };
  if (item.sale == nullptr) {
    offer(item);
  } else if (const Item* newest = find_number(item.sale->newest_item(user)); newest != nullptr) {
    offer(*newest);
  } else {
    for (const Item* other : item.sale->items) offer(*other);
  }
  return answer;
}

}  // namespace holdfast
