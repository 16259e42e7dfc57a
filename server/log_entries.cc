#include "server/log_entries.h"

#include <fmt/format.h>

namespace holdfast {
namespace {

std::string_view view(const std::array<char, ReservationId::kTextBytes>& text) { return {text.data(), text.size()}; }

}  // namespace

std::string entry_id(Lsn lsn) { return fmt::format("{}-0", lsn.value()); }

void LogEntries::begin(std::string_view event) {
  fields_.clear();
  field_count_ = 0;
  text("event", event);
}

void LogEntries::text(std::string_view field, std::string_view value) {
  ReplyWriter writer(fields_, version_);
  writer.bulk(field);
  writer.bulk(value);
  field_count_ += 2;
}

void LogEntries::number(std::string_view field, std::int64_t value) {
  const fmt::format_int digits(value);
  text(field, {digits.data(), digits.size()});
}

void LogEntries::number(std::string_view field, std::uint64_t value) {
  const fmt::format_int digits(value);
  text(field, {digits.data(), digits.size()});
}

/// A number that nothing tells of is shown as it is.
void LogEntries::item(const RecordStamp& stamp) {
  const ItemDirectory::Entry* known = items_.find(stamp.item);
  if (known == nullptr) return number("number", stamp.item.value());
  text("item", known->name);
  number("version", known->version.value());
}

void LogEntries::change(const RecordStamp& stamp) {
  number("sequence", stamp.sequence.value());
  number("wall", to_ms(stamp.wall));
}

void LogEntries::counters(const Counters& counters) {
  number("available", counters.available);
  number("reserved", counters.reserved);
  number("confirmed", counters.confirmed);
  number("held", counters.held);
}

void LogEntries::definition(const ItemDefinition& definition) {
  number("stock", definition.stock);
  number("limit", definition.limit);
  text("scope", scope_name(definition.scope));
  number("ttl", definition.ttl.count());
  number("max-hold", definition.max_hold.count());
  number("opens-at", to_ms(definition.opens_at));
  number("closes-at", to_ms(definition.closes_at));
  number("price", definition.price);
  text("currency", definition.currency);
  text("sale", definition.sale);
  text("product", definition.product);
}

void LogEntries::end(const RecordStamp& stamp) {
  ReplyWriter writer(bytes_, version_);
  writer.array(2);
  writer.bulk(entry_id(stamp.lsn));
  writer.array(field_count_);
  bytes_.append(fields_);
  if (count_++ == 0) first_ = stamp.lsn;
}

Result<void> LogEntries::on_item(const RecordStamp& stamp, const ItemRecord& record) {
  if (!wanted(stamp)) return {};
  begin(event_name(record.event));
  text("item", record.name);
  number("version", record.version.value());
  change(stamp);
  text("state", state_name(record.state));
  if (record.by_window) number("by-window", std::int64_t{1});
  if (record.returns_held) number("returns-held", std::int64_t{1});
  if (record.fenced) number("fenced", std::int64_t{1});
  counters(record.after);
  number("total", record.total);
  number("delta", record.delta);
  definition(record.definition);
  if (record.event == ItemEvent::adjust) {
    text("id", view(record.adjust_id.text()));
    text("reason", record.reason);
  }
  end(stamp);
  return {};
}

Result<void> LogEntries::on_reservation(const RecordStamp& stamp, const ReservationRecord& record) {
  if (!wanted(stamp)) return {};
  begin(event_name(record.event));
  item(stamp);
  change(stamp);
  text("id", view(record.id.text()));
  text("user", record.user.text());
  number("quantity", record.quantity.value());
  if (record.deadline) number("deadline", to_ms(stamp.wall) + (*record.deadline - stamp.hold).count());
  if (record.exclusive) number("exclusive", std::int64_t{1});
  if (record.write_off) number("writeoff", std::int64_t{1});
  counters(record.after);
  end(stamp);
  return {};
}

Result<void> LogEntries::on_forget(const RecordStamp& stamp, const ForgetRecord& record) {
  if (!wanted(stamp)) return {};
  begin("FORGET");
  item(stamp);
  number("wall", to_ms(stamp.wall));
  number("through", record.through.value());
  number("count", std::uint64_t{record.count});
  end(stamp);
  return {};
}

Result<void> LogEntries::on_default_returns(const RecordStamp& stamp, const DefaultReturnsRecord& record) {
  if (!wanted(stamp)) return {};
  begin("DEFAULT-RETURNS");
  number("wall", to_ms(stamp.wall));
  number("held", std::int64_t{record.held ? 1 : 0});
  end(stamp);
  return {};
}

void LogEntries::on_unknown(const RecordStamp& stamp, std::uint8_t type, std::size_t bytes) {
  if (!wanted(stamp)) return;
  begin("UNKNOWN");
  number("wall", to_ms(stamp.wall));
  number("type", std::uint64_t{type});
  number("bytes", std::uint64_t{bytes});
  end(stamp);
}

}  // namespace holdfast
