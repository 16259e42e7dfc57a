// The Redis view of an item's stock: SET, INCRBY, DECRBY and DEL of {item}:stock.
#include "server/inventory.h"

namespace holdfast {
namespace {

Error has_reservations(const Item& item) {
  return Error::format(ErrorCode::err, "{} units are reserved and {} confirmed (has reservations; use ITEM ADJUST)",
                       item.counters.reserved, item.counters.confirmed);
}

}  // namespace

Result<Inventory::StockOutcome> Inventory::set_stock(const StockWrite& write, const Now& now) {
  Item* item = find(write.item, now);
  if (item != nullptr ? write.only_new : write.only_old) return StockOutcome::not_written;
  std::optional<WallTime> closes_at = write.expires_at;
  if (write.expires_in) closes_at = now.wall + *write.expires_in;
  if (closes_at && *closes_at <= now.wall) return Error(ErrorCode::err, "invalid expire time in 'set' command");
  if (item == nullptr) {
    LoadRequest request{write.item, {}, {}, true};
    request.definition.stock = write.value;
    request.definition.closes_at = closes_at.value_or(WallTime());
    HOLDFAST_TRY(load(request, now));
    return StockOutcome::written;
  }
  if (item->fenced) return fenced(*item);
  HOLDFAST_TRY(settle(*item, now));
  if (item->state == ItemState::closed) {
    HOLDFAST_TRY(next_sale(*item, write.value, closes_at.value_or(WallTime()), now));
  } else if (!item->has_live()) {
    HOLDFAST_TRY(write_stock(*item, write.value, closes_at.value_or(item->definition.closes_at), now));
  } else if (write.value != item->total || closes_at) {
    return has_reservations(*item);
  }
  return StockOutcome::written;
}

/// The next version, with the settings of the last but for its windows, opened.
Result<void> Inventory::next_sale(Item& item, std::int64_t stock, WallTime closes_at, const Now& now) {
  if (item.counters.reserved > 0) {
    return Error::format(ErrorCode::err, "item is CLOSED with {} units reserved; the next sale needs none",
                         item.counters.reserved);
  }
  // Loading replaces the item, so what is needed of it is copied first.
  const std::string name = item.named->name;
  LoadRequest request{ItemName::from_stored(name), item.version.next(), item.definition, true};
  request.definition.stock = stock;
  request.definition.opens_at = WallTime();
  request.definition.closes_at = closes_at;
  return load(request, now);
}

/// Nothing is reserved or confirmed: the total becomes `stock`, of which what is held stays held.
Result<void> Inventory::write_stock(Item& item, std::int64_t stock, WallTime closes_at, const Now& now) {
  if (stock < item.counters.held) {
    return Error::format(ErrorCode::err, "{} units are held; free them by ITEM RETURNS first", item.counters.held);
  }
  ItemRecord record = record_of(item, ItemEvent::stock);
  record.definition.closes_at = closes_at;
  record.delta = stock - item.total;
  record.after.available += record.delta;
  record.total = stock;
  if (record.delta == 0 && closes_at == item.definition.closes_at) return {};
  if (closes_at != WallTime() && closes_at <= item.definition.opens_at) {
    return Error::format(ErrorCode::err, "closes-at {} would not be after opens-at {}", to_ms(closes_at),
                         to_ms(item.definition.opens_at));
  }
  HOLDFAST_TRY(may_go_on(item));
  return change(item, record, now);
}

Result<void> Inventory::add_stock(Item& item, std::int64_t delta, const Now& now) {
  if (item.fenced) return fenced(item);
  if (item.state == ItemState::closed) return Error(ErrorCode::err, "item is CLOSED; SET begins its next sale");
  HOLDFAST_TRY(settle(item, now));
  if (item.has_live() && !settings_.redis_view_adjusts) return has_reservations(item);
  if (delta > kStockMax - item.total) return Error(ErrorCode::err, "increment or decrement would overflow");
  if (delta < -item.counters.available) {
    return Error::format(ErrorCode::err, "decrement takes more than the {} available", item.counters.available);
  }
  if (delta == 0) return {};
  HOLDFAST_TRY(may_go_on(item));
  ItemRecord record = record_of(item, ItemEvent::stock);
  record.delta = delta;
  record.after.available += delta;
  record.total += delta;
  return change(item, record, now);
}

Result<void> Inventory::may_delete(Item& item, const Now& now) {
  if (item.fenced) return fenced(item);
  HOLDFAST_TRY(settle(item, now));
  if (!item.has_live()) return {};
  return Error::format(ErrorCode::err,
                       "{} units are reserved and {} confirmed; ITEM DROP with CONFIRMED-TOO drops the latter",
                       item.counters.reserved, item.counters.confirmed);
}

}  // namespace holdfast
