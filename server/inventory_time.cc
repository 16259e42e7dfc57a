// What happens because time passes: windows open and close, reservations expire, ended ids are forgotten.
#include "server/inventory_expiry.h"

#include <algorithm>

namespace holdfast {
namespace {

constexpr std::uint64_t kEndedMin = 100'000;  // ended ids kept per item, at least, unless a number is given
constexpr std::size_t kReleaseSteps = 32;     // of a retired item's memory, per sweep

std::uint64_t to_key(HoldTime time) noexcept {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(to_ms(time), 0));
}

}  // namespace

Result<void> Inventory::settle(Item& item, const Now& now) {
  if (!due(item, now)) return {};
  Budget budget;
  HOLDFAST_TRY(expire_due(item, now, budget, [] { return true; }));
  if (!budget.left() && due(item, now)) return Error(ErrorCode::err, "expiring, try again");
  return {};
}

Result<void> Inventory::expire_all(Item& item, const Now& now) {
  Budget budget;
  const auto expire = [&](Item& other) -> Result<void> {
    if (other.fenced || !due(other, now)) return {};
    HOLDFAST_TRY(expire_due(other, now, budget, [] { return true; }));
    if (!budget.left() && due(other, now)) return Error(ErrorCode::err, "expiring, try again");
    return {};
  };
  if (item.sale == nullptr) return expire(item);
  for (Item* other : item.sale->items) HOLDFAST_TRY(expire(*other));
  return {};
}

Result<void> Inventory::expire_if_due(Item& item, RowSlot slot, const Now& now) {
  if (item.fenced || item.rows->row(slot).state() != ReservationState::reserved) return {};
  const auto deadline = item.rows->deadline(slot);
  if (!deadline || *deadline > now.hold) return {};
  ReservationRecord record = record_of(item, slot, ReservationEvent::expire);
  HOLDFAST_TRY(change(item, slot, record, now));
  return {};
}

Result<void> Inventory::pass_windows(Item& item, const Now& now) {
  if (item.fenced) return {};
  const auto passed = [&](WallTime moment) { return moment != WallTime() && moment <= now.wall; };
  const auto step = [&](ItemEvent event, ItemState state) {
    ItemRecord record = record_of(item, event);
    record.by_window = true;
    record.state = state;
    return change(item, record, now);
  };
  if (item.state == ItemState::ready && passed(item.definition.opens_at)) {
    HOLDFAST_TRY(step(ItemEvent::open, ItemState::open));
  }
  if ((item.state == ItemState::open || item.state == ItemState::paused) && passed(item.definition.closes_at)) {
    HOLDFAST_TRY(step(ItemEvent::close, ItemState::closed));
  }
  return {};
}

std::uint64_t Inventory::ended_max(const Item& item) const noexcept {
  return settings_.ended_max.value_or(std::max(4 * static_cast<std::uint64_t>(item.total), kEndedMin));
}

void Inventory::forget_ended(Item& item, const Now& now, std::uint64_t kept_max, int& changes) {
  ForgetRecord record;
  const auto flush = [&] {
    if (record.count == 0) return;
    sink_.on_forget({Lsn(), now.hold, now.wall, item.number, Sequence()}, record);
    // No change of the item's sequence, but of what is answered for the ids: that rests on this group, too.
    item.changed = open_;
    changed_ = std::max(changed_, open_);
    record.count = 0;
  };
  for (; changes > 0; --changes) {
    const auto oldest = item.rows->oldest_ended();
    if (!oldest) break;
    const bool too_many = item.rows->ended_count() > kept_max;
    const bool too_old = item.rows->ended_at(*oldest) + settings_.ended_retention <= now.hold;
    if (!too_many && !too_old) break;
    if (record.count == 0) views_.before_change(item);
    record.through = item.rows->row(*oldest).sequence();
    item.rows->forget(*oldest);
    if (++record.count == kForgetMax) flush();
  }
  flush();
}

bool Inventory::sweep(const Now& now) {
  Budget budget;
  while (budget.left() && windows_.minimum() <= static_cast<std::uint64_t>(to_ms(now.wall))) {
    Item& item = *items_[windows_.minimum_leaf()];
    static_cast<void>(pass_windows(item, now));
    schedule_window(item);
    --budget.changes;
  }
  while (budget.left() && due_.minimum() <= to_key(now.hold)) {
    Item& item = *items_[due_.minimum_leaf()];
    if (!item.fenced) static_cast<void>(expire_due(item, now, budget, [] { return true; }));
    if (!item.fenced) forget_ended(item, now, ended_max(item), budget.changes);
    if (budget.left()) schedule(item);
  }
  for (int items = 0; items < kRetiredMax && !retired_.empty(); ++items) {
    if (!retired_.back()->release_some(kReleaseSteps)) break;
    retired_.pop_back();
  }
  return due_.minimum() <= to_key(now.hold) || windows_.minimum() <= static_cast<std::uint64_t>(to_ms(now.wall)) ||
         !retired_.empty();
}

HoldTime Inventory::next_due(const Now& now) const {
  HoldTime next = HoldTime::max();
  if (due_.minimum() != MinimumTree::kNever) next = hold_time(static_cast<std::int64_t>(due_.minimum()));
  if (windows_.minimum() != MinimumTree::kNever) {
    next = std::min(next, now.hold + (wall_time(static_cast<std::int64_t>(windows_.minimum())) - now.wall));
  }
  if (!retired_.empty()) next = std::min(next, now.hold);
  return next;
}

/// Sets when the item is due next to what is known exactly.
void Inventory::schedule(Item& item) {
  HoldTime next = item.rows->deadline_bound();
  if (const auto oldest = item.rows->oldest_ended()) {
    next = item.rows->ended_count() > ended_max(item)
               ? std::min(next, item.rows->ended_at(*oldest))
               : std::min(next, item.rows->ended_at(*oldest) + settings_.ended_retention);
  }
  due_.set(item.index, item.fenced || next == HoldTime::max() ? MinimumTree::kNever : to_key(next));
}

void Inventory::schedule_window(const Item& item) {
  const WallTime next = next_window(item);
  windows_.set(item.index,
               item.fenced || next == WallTime() ? MinimumTree::kNever : static_cast<std::uint64_t>(to_ms(next)));
}

void Inventory::wake_at(const Item& item, HoldTime time) {
  if (to_key(time) < due_.at(item.index)) due_.set(item.index, to_key(time));
}

}  // namespace holdfast
