// What operators do with a loaded item: its states, ADJUST, SET, RETURNS, VERIFY, UNFENCE.
#include "server/inventory.h"

#include <fmt/format.h>

namespace holdfast {
namespace {

/// The state after a step, where the step is allowed; nothing where it is not.
std::optional<ItemState> state_after(ItemEvent step, ItemState from) noexcept {
  switch (step) {
    case ItemEvent::ready:
      return from <= ItemState::ready ? std::optional(ItemState::ready) : std::nullopt;
    case ItemEvent::open:
      return from >= ItemState::ready && from <= ItemState::paused ? std::optional(ItemState::open) : std::nullopt;
    case ItemEvent::pause:
      return from == ItemState::open || from == ItemState::paused ? std::optional(ItemState::paused) : std::nullopt;
    case ItemEvent::close:
      return ItemState::closed;
    default:
      return std::nullopt;
  }
}

Result<void> set_value(ItemDefinition& definition, const ItemSetRequest& request) {
  switch (request.field) {
    case SetField::limit:
      definition.limit = request.value;
      break;
    case SetField::ttl:
      definition.ttl = Millis(request.value);
      break;
    case SetField::max_hold:
      definition.max_hold = Millis(request.value);
      break;
    case SetField::opens_at:
      definition.opens_at = wall_time(request.value);
      break;
    case SetField::closes_at:
      definition.closes_at = wall_time(request.value);
      break;
    case SetField::price:
      definition.price = request.value;
      break;
    case SetField::currency:
      definition.currency = request.text;
      break;
  }
  if (definition.ttl <= definition.max_hold) return {};
  return Error::format(ErrorCode::err, "TTL {} would be above MAX-HOLD {}", definition.ttl.count(),
                       definition.max_hold.count());
}

Result<void> check_window(SetField field, const ItemDefinition& definition, const Now& now) {
  if (definition.closes_at == WallTime()) return {};
  if (field == SetField::closes_at && definition.closes_at <= now.wall) {
    return Error::format(ErrorCode::err, "CLOSES-AT {} is in the past; it is {} now", to_ms(definition.closes_at),
                         to_ms(now.wall));
  }
  const bool moves = field == SetField::closes_at || field == SetField::opens_at;
  if (moves && definition.closes_at <= definition.opens_at) {
    return Error::format(ErrorCode::err, "CLOSES-AT {} would not be after OPENS-AT {}", to_ms(definition.closes_at),
                         to_ms(definition.opens_at));
  }
  return {};
}

}  // namespace

Result<void> Inventory::move(Item& item, ItemEvent step, const Now& now) {
  if (item.fenced) return fenced(item);
  const auto state = state_after(step, item.state);
  if (!state)
    return Error::format(ErrorCode::err, "item is {}; this step is not allowed there", state_name(item.state));
  if (*state == item.state) return {};
  ItemRecord record = record_of(item, step);
  record.state = *state;
  return change(item, record, now);
}

Result<void> Inventory::adjust(Item& item, const AdjustRequest& request, const Now& now) {
  if (item.fenced) return fenced(item);
  if (const auto delta = item.adjusts.find(request.id)) {
    if (*delta == request.delta) return {};
    return Error::format(ErrorCode::id_mismatch, "delta: this ID adjusted by {}", *delta);
  }
  if (request.delta < 0) HOLDFAST_TRY(settle(item, now));
  if (request.delta < -item.counters.available) {
    return Error::format(ErrorCode::err, "delta {} takes more than the {} available", request.delta,
                         item.counters.available);
  }
  if (request.delta > kStockMax - item.total) {
    return Error::format(ErrorCode::err, "delta {} would raise the total {} above {}", request.delta, item.total,
                         kStockMax);
  }
  HOLDFAST_TRY(may_go_on(item));
  ItemRecord record = record_of(item, ItemEvent::adjust);
  record.after.available += request.delta;
  record.total += request.delta;
  record.delta = request.delta;
  record.adjust_id = request.id;
  record.reason = request.reason;
  return change(item, record, now);
}

Result<void> Inventory::set_field(Item& item, const ItemSetRequest& request, const Now& now) {
  if (item.fenced) return fenced(item);
  const std::string found = field_text(request.field, item.definition);
  if (found != request.expected) {
    return Error::format(ErrorCode::err, "{} is '{}', not '{}'", field_name(request.field), Echo(found).text(),
                         Echo(request.expected).text());
  }
  ItemRecord record = record_of(item, ItemEvent::set);
  HOLDFAST_TRY(set_value(record.definition, request));
  if (record.definition == item.definition) return {};
  HOLDFAST_TRY(check_window(request.field, record.definition, now));
  HOLDFAST_TRY(may_go_on(item));
  return change(item, record, now);
}

Result<void> Inventory::set_returns(Item& item, bool held, const Now& now) {
  if (item.fenced) return fenced(item);
  if (item.returns_held == held) return {};
  ItemRecord record = record_of(item, ItemEvent::returns);
  record.returns_held = held;
  if (!held) {
    record.delta = record.after.held;
    record.after.available += record.after.held;
    record.after.held = 0;
  }
  return change(item, record, now);
}

/// A fenced item keeps its flag until it is unfenced and told again; all others change.
Result<void> Inventory::set_all_returns(bool held, const Now& now) {
  for (std::size_t position = 0; position < named_.size(); ++position) {
    Item* item = at_position(position, now);
    if (item != nullptr && !item->fenced) static_cast<void>(set_returns(*item, held, now));
  }
  if (returns_held_ == held) return {};
  sink_.on_default_returns({Lsn(), now.hold, now.wall, ItemNumber(), Sequence()}, {held});
  returns_held_ = held;
  changed_ = std::max(changed_, open_);
  return {};
}

Verification Inventory::verify(const Item& item) const {
  Verification found;
  found.item = &item;
  found.counted = item.counters;
  found.counted.reserved = 0;
  found.counted.confirmed = 0;
  for (std::uint32_t slot = 0; slot < item.rows->slots_end(); ++slot) {
    const ReservationState state = item.rows->row(RowSlot(slot)).state();
    if (state == ReservationState::none) continue;
    ++found.rows;
    if (state == ReservationState::reserved) found.counted.reserved += item.rows->quantity(RowSlot(slot));
    if (state == ReservationState::confirmed) found.counted.confirmed += item.rows->quantity(RowSlot(slot));
  }
  found.ok = lawful(item.counters, item.total) && found.counted == item.counters;
  return found;
}

Result<void> Inventory::unfence(Item& item, Sequence expected, const Now& now) {
  if (!item.fenced) return Error(ErrorCode::err, "item is not fenced");
  if (item.sequence != expected) {
    return Error::format(ErrorCode::err, "item was fenced at sequence {}, not {}", item.sequence.value(),
                         expected.value());
  }
  if (!verify(item).ok) {
    return Error(ErrorCode::err, "the item still breaks its law in memory; restart the server, which replays the log");
  }
  ItemRecord record = record_of(item, ItemEvent::unfence);
  record.fenced = false;
  return change(item, record, now);
}

}  // namespace holdfast
