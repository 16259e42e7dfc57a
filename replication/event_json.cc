#include "replication/event_json.h"

#include "protocol/check.h"
#include "protocol/outside_text.h"
#include "replication/outside_id.h"

#include <boost/json.hpp>
#include <limits>

namespace holdfast {
namespace {

namespace json = boost::json;

json::value exact(std::int64_t number) {
  if (number <= kStockMax && number >= -kStockMax) return number;
  return json::value(std::to_string(number));
}

json::value exact(std::uint64_t number) {
  if (number <= static_cast<std::uint64_t>(kStockMax)) return number;
  return json::value(std::to_string(number));
}

json::value id_or_name(std::optional<std::int64_t> number, std::string_view name) {
  return number ? exact(*number) : json::value(outside_text(name));
}

void put_time(json::object& to, std::string_view name, WallTime time) {
  if (to_ms(time) != 0) to[json::string_view(name.data(), name.size())] = to_ms(time);
}

void put_reservation(json::object& to, const ItemFacts& item, const ReservationChange& change) {
  to["orderId"] = id_text(change.id);
  to["userId"] = id_or_name(outside_user_number(change.user), change.user);
  to["quantity"] = change.quantity.value();
  if (change.event == ReservationEvent::reserve) {
    to["price"] = exact(item.definition.price);
    to["currency"] = outside_text(item.definition.currency);
    to["saleId"] = outside_text(item.definition.sale);
  }
  if (change.expires_at) to["expiresAt"] = to_ms(*change.expires_at);
  if (change.write_off) to["writeOff"] = true;
}

void put_item(json::object& to, const ItemFacts& item, const ItemChange& change) {
  to["state"] = item.dropped ? "DROPPED" : std::string(state_name(item.state));
  if (change.by_window) to["byWindow"] = true;
  if (change.delta != 0) to["delta"] = exact(change.delta);
  if (change.event == ItemEvent::adjust) {
    to["adjustId"] = id_text(change.adjust_id);
    to["reason"] = outside_text(change.reason);
  }
  if (item.returns_held) to["returnsHeld"] = true;
  if (item.fenced) to["fenced"] = true;
  const ItemDefinition& definition = item.definition;
  to["limit"] = definition.limit;
  to["ttl"] = definition.ttl.count();
  put_time(to, "opensAt", definition.opens_at);
  put_time(to, "closesAt", definition.closes_at);
  to["price"] = exact(definition.price);
  to["currency"] = outside_text(definition.currency);
  to["saleId"] = outside_text(definition.sale);
  to["productId"] = outside_text(definition.product);
}

/// Members of an object that must be there and of the right kind; one that is not makes sound() false.
class Members {
 public:
  explicit Members(const json::object& from) : from_(from) {}

  std::uint64_t number(std::string_view name) { return static_cast<std::uint64_t>(integer(name)); }
  std::int64_t integer(std::string_view name) {
    const json::value* const value = find(name);
    std::int64_t number = 0;
    if (value != nullptr && value->is_int64()) return value->as_int64();
    if (value == nullptr || !value->is_string() || !parse_integer(std::string_view(value->as_string()), number)) {
      sound_ = false;
    }
    return number;
  }
  bool flag(std::string_view name) {
    const json::value* const value = find(name);
    sound_ &= value != nullptr && value->is_bool();
    return sound_ && value->as_bool();
  }
  std::string bytes(std::string_view name) {
    const json::value* const value = find(name);
    auto bytes = value == nullptr || !value->is_string() ? std::nullopt : inside_bytes(value->as_string());
    sound_ &= bytes.has_value();
    return sound_ ? std::move(*bytes) : std::string();
  }
  bool sound() const noexcept { return sound_; }

 private:
  const json::value* find(std::string_view name) const {
    return from_.if_contains(json::string_view(name.data(), name.size()));
  }
  const json::object& from_;
  bool sound_ = true;
};

void take_definition(Members& from, ItemDefinition& to) {
  to.stock = from.integer("stock");
  to.limit = from.integer("limit");
  to.scope = from.flag("saleScope") ? LimitScope::sale : LimitScope::item;
  to.ttl = Millis(from.integer("ttl"));
  to.max_hold = Millis(from.integer("maxHold"));
  to.opens_at = wall_time(from.integer("opensAt"));
  to.closes_at = wall_time(from.integer("closesAt"));
  to.price = from.integer("price");
  to.currency = from.bytes("currency");
  to.sale = from.bytes("sale");
  to.product = from.bytes("product");
}

}  // namespace

json::object event_to_json(const Event& event) {
  const ItemFacts& item = *event.item;
  json::object line;
  line["lsn"] = exact(event.lsn.value());
  line["event"] = json::string_view(event.name().data(), event.name().size());
  line["at"] = to_ms(event.at);
  line["item"] = outside_text(item.name);
  line["itemId"] = id_or_name(outside_item_number(item.name), item.name);
  line["version"] = exact(item.version.value());
  line["sequence"] = event.sequence.value();
  if (const auto* const reservation = event.reservation()) put_reservation(line, item, *reservation);
  if (const auto* const change = event.item_change()) put_item(line, item, *change);
  line["available"] = event.after.available;
  line["reserved"] = event.after.reserved;
  line["confirmed"] = event.after.confirmed;
  line["held"] = event.after.held;
  return line;
}

json::object order_to_json(const Event& event) {
  const auto* const reservation = event.reservation();
  CHECK(reservation != nullptr && reservation->event == ReservationEvent::reserve);
  const ItemFacts& item = *event.item;
  json::object order;
  order["orderId"] = id_text(reservation->id);
  order["itemId"] = id_or_name(outside_item_number(item.name), item.name);
  order["userId"] = id_or_name(outside_user_number(reservation->user), reservation->user);
  order["quantity"] = reservation->quantity.value();
  order["price"] = exact(item.definition.price);
  order["currency"] = outside_text(item.definition.currency);
  order["saleId"] = outside_text(item.definition.sale);
  order["item"] = outside_text(item.name);
  order["version"] = exact(item.version.value());
  order["sequence"] = event.sequence.value();
  order["reservedAt"] = to_ms(event.at);
  if (reservation->expires_at) order["expiresAt"] = to_ms(*reservation->expires_at);
  return order;
}

json::object facts_to_json(const ItemFacts& item) {
  const ItemDefinition& definition = item.definition;
  json::object to;
  to["number"] = exact(item.number.value());
  to["item"] = outside_text(item.name);
  to["version"] = exact(item.version.value());
  to["state"] = static_cast<int>(item.state);
  to["dropped"] = item.dropped;
  to["returnsHeld"] = item.returns_held;
  to["fenced"] = item.fenced;
  to["stock"] = exact(definition.stock);
  to["limit"] = exact(definition.limit);
  to["saleScope"] = definition.scope == LimitScope::sale;
  to["ttl"] = exact(static_cast<std::int64_t>(definition.ttl.count()));
  to["maxHold"] = exact(static_cast<std::int64_t>(definition.max_hold.count()));
  to["opensAt"] = exact(to_ms(definition.opens_at));
  to["closesAt"] = exact(to_ms(definition.closes_at));
  to["price"] = exact(definition.price);
  to["currency"] = outside_text(definition.currency);
  to["sale"] = outside_text(definition.sale);
  to["product"] = outside_text(definition.product);
  return to;
}

std::optional<json::object> object_in(std::string_view text) {
  boost::system::error_code ec;
  json::value value = json::parse(json::string_view(text.data(), text.size()), ec);
  if (ec || !value.is_object()) return std::nullopt;
  return std::move(value.get_object());
}

std::optional<std::uint64_t> natural_in(const json::object& from, std::string_view name) {
  const json::value* const value = from.if_contains(json::string_view(name.data(), name.size()));
  std::uint64_t number = 0;
  if (value == nullptr) return std::nullopt;
  if (value->is_int64() && value->get_int64() >= 0) return static_cast<std::uint64_t>(value->get_int64());
  if (value->is_string() &&
      parse_canonical(std::string_view(value->get_string()), std::numeric_limits<std::uint64_t>::max(), number)) {
    return number;
  }
  return std::nullopt;
}

Result<ItemFactsPointer> facts_from_json(std::string_view text) {
  boost::system::error_code ec;
  const json::value value = json::parse(json::string_view(text.data(), text.size()), ec);
  ItemFacts item;
  bool sound = !ec && value.is_object();
  if (sound) {
    Members members(value.get_object());
    item.number = ItemNumber(members.number("number"));
    item.name = members.bytes("item");
    item.version = ItemVersion(members.number("version"));
    const std::int64_t state = members.integer("state");
    item.state = static_cast<ItemState>(state);
    item.dropped = members.flag("dropped");
    item.returns_held = members.flag("returnsHeld");
    item.fenced = members.flag("fenced");
    take_definition(members, item.definition);
    sound = members.sound() && state >= 0 && state <= static_cast<int>(ItemState::closed) && !item.name.empty();
  }
  if (!sound) return Error::format(ErrorCode::damaged, "'{}' is no item", Echo(text).text());
  return std::make_shared<const ItemFacts>(std::move(item));
}

}  // namespace holdfast
