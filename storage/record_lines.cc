#include "storage/record_lines.h"

#include <boost/json/serialize.hpp>

#include <fmt/format.h>

namespace holdfast {
namespace {

namespace json = boost::json;

std::string id_text(const ReservationId& id) {
  const auto text = id.text();
  return {text.data(), text.size()};
}

void put_counters(json::object& to, const Counters& counters) {
  to["available"] = counters.available;
  to["reserved"] = counters.reserved;
  to["confirmed"] = counters.confirmed;
  to["held"] = counters.held;
}

void put_definition(json::object& to, const ItemDefinition& definition) {
  to["stock"] = definition.stock;
  to["limit"] = definition.limit;
  to["scope"] = std::string(scope_name(definition.scope));
  to["ttl"] = definition.ttl.count();
  to["max-hold"] = definition.max_hold.count();
  to["opens-at"] = to_ms(definition.opens_at);
  to["closes-at"] = to_ms(definition.closes_at);
  to["price"] = definition.price;
  to["currency"] = percent_escaped(definition.currency);
  to["sale"] = percent_escaped(definition.sale);
  to["product"] = percent_escaped(definition.product);
}

std::string as_pair(const json::key_value_pair& pair) {
  const auto text = pair.value().is_string() ? std::string(pair.value().as_string()) : json::serialize(pair.value());
  return fmt::format("{}={}", std::string_view(pair.key().data(), pair.key().size()), text);
}

}  // namespace

std::string render(const json::object& object, bool as_json) {
  if (as_json) return json::serialize(object);
  std::string line;
  for (const auto& pair : object) {
    if (!line.empty()) line += ' ';
    line += as_pair(pair);
  }
  return line;
}

std::string percent_escaped(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    if (c > 0x20 && c < 0x7f && c != '%') {
      text += c;
    } else {
      text += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return text;
}

void RecordLines::put(const RecordStamp& stamp, std::string_view event, json::object fields) {
  json::object line;
  line["lsn"] = stamp.lsn.value();
  line["event"] = std::string(event);
  line["hold"] = to_ms(stamp.hold);
  line["wall"] = to_ms(stamp.wall);
  if (stamp.item > ItemNumber()) line["number"] = stamp.item.value();
  if (stamp.sequence > Sequence()) line["sequence"] = stamp.sequence.value();
  for (auto& field : fields) line[field.key()] = std::move(field.value());
  out_(render(line, options_.json));
}

Result<void> RecordLines::on_item(const RecordStamp& stamp, const ItemRecord& record) {
  if (!wanted(stamp)) return {};
  json::object fields;
  fields["item"] = percent_escaped(record.name);
  fields["version"] = record.version.value();
  fields["state"] = std::string(state_name(record.state));
  if (record.by_window) fields["by-window"] = true;
  if (record.returns_held) fields["returns-held"] = true;
  if (record.fenced) fields["fenced"] = true;
  put_counters(fields, record.after);
  fields["total"] = record.total;
  fields["delta"] = record.delta;
  put_definition(fields, record.definition);
  if (record.event == ItemEvent::adjust) {
    fields["id"] = id_text(record.adjust_id);
    fields["reason"] = percent_escaped(record.reason);
  }
  put(stamp, event_name(record.event), std::move(fields));
  return {};
}

Result<void> RecordLines::on_reservation(const RecordStamp& stamp, const ReservationRecord& record) {
  if (!wanted(stamp)) return {};
  json::object fields;
  fields["id"] = id_text(record.id);
  fields["user"] = percent_escaped(record.user.text());
  fields["quantity"] = record.quantity.value();
  if (record.deadline) fields["deadline"] = to_ms(*record.deadline);
  if (record.exclusive) fields["exclusive"] = true;
  if (record.write_off) fields["writeoff"] = true;
  put_counters(fields, record.after);
  put(stamp, event_name(record.event), std::move(fields));
  return {};
}

Result<void> RecordLines::on_forget(const RecordStamp& stamp, const ForgetRecord& record) {
  if (wanted(stamp)) put(stamp, "FORGET", {{"through", record.through.value()}, {"count", record.count}});
  return {};
}

Result<void> RecordLines::on_default_returns(const RecordStamp& stamp, const DefaultReturnsRecord& record) {
  if (wanted(stamp)) put(stamp, "DEFAULT-RETURNS", {{"held", record.held}});
  return {};
}

void RecordLines::on_clock(const RecordStamp& stamp) {
  if (options_.frames && wanted(stamp)) put(stamp, "CLOCK", {});
}

void RecordLines::on_unknown(const RecordStamp& stamp, std::uint8_t type, std::size_t bytes) {
  if (wanted(stamp)) put(stamp, "UNKNOWN", {{"type", type}, {"bytes", bytes}});
}

}  // namespace holdfast
