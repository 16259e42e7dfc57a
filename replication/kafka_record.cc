#include "replication/kafka_record.h"

#include "protocol/check.h"
#include "protocol/outside_text.h"
#include "replication/event_json.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

namespace holdfast {
namespace {

namespace json = boost::json;

std::string cursor_prefix(const std::string& sink) { return "cursor/" + sink + "/"; }
std::string item_prefix(const std::string& sink) { return "item/" + sink + "/"; }

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

/// RFC 3339, as CloudEvents wants it.
std::string time_text(WallTime at) {
  const std::int64_t ms = to_ms(at);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(static_cast<std::time_t>(ms / 1000)), ms % 1000);
}

json::object offsets_to_json(const KafkaOffsets& offsets) {
  json::object topics;
  for (const auto& [topic, of_partitions] : offsets)
    topics[topic] = json::array(of_partitions.begin(), of_partitions.end());
  return topics;
}

std::optional<KafkaOffsets> offsets_from_json(const json::value* value) {
  if (value == nullptr || !value->is_object()) return std::nullopt;
  KafkaOffsets offsets;
  for (const auto& topic : value->get_object()) {
    if (!topic.value().is_array()) return std::nullopt;
    auto& of_partitions = offsets[std::string(topic.key())];
    for (const json::value& offset : topic.value().get_array()) {
      if (!offset.is_int64()) return std::nullopt;
      of_partitions.push_back(offset.get_int64());
    }
  }
  return offsets;
}

Result<KafkaCursor> parse_cursor(std::string_view text) {
  const auto damaged = Error::format(ErrorCode::damaged, "'{}' is no cursor", Echo(text).text());
  const auto from = object_in(text);
  if (!from) return damaged;
  const auto lsn = natural_in(*from, "lsn"), epoch = natural_in(*from, "epoch");
  const auto *const log = from->if_contains("log"), *const owner = from->if_contains("owner"),
                    *const before = from->if_contains("before");
  auto topics = offsets_from_json(from->if_contains("topics"));
  const bool whole =
      lsn && epoch && log != nullptr && log->is_string() && owner != nullptr && owner->is_string() && topics;
  if (!whole) return damaged;
  const auto id = parse_log_id(std::string_view(log->get_string()));
  if (!id) return damaged;
  KafkaCursor cursor{{*id, Lsn(*lsn), Epoch(*epoch)}, std::string(owner->get_string()), std::move(*topics), {}, {}};
  if (before == nullptr) return cursor;
  const auto begins = natural_in(*from, "begins");
  auto offsets = offsets_from_json(before);
  if (!begins || !offsets) return damaged;
  cursor.begins = Lsn(*begins);
  cursor.before = std::move(*offsets);
  return cursor;
}

}  // namespace

KafkaRecordMaker::KafkaRecordMaker(const LogId& log, std::vector<KafkaHeader> headers)
    : source_("urn:holdfast:" + log_id_text(log)), headers_(std::move(headers)) {}

std::vector<KafkaHeader> KafkaRecordMaker::headers_of(const Event& event, std::string type,
                                                      std::string_view id_suffix) const {
  std::string item = outside_text(event.item->name);
  std::vector<KafkaHeader> headers;
  headers.reserve(7 + headers_.size());
  headers.push_back({"ce_specversion", "1.0"});
  headers.push_back(
      {"ce_id", fmt::format("{}/{}/{}{}", item, event.item->version.value(), event.sequence.value(), id_suffix)});
  headers.push_back({"ce_source", source_});
  headers.push_back({"ce_type", std::move(type)});
  headers.push_back({"ce_subject", std::move(item)});
  headers.push_back({"ce_time", time_text(event.at)});
  headers.push_back({"content-type", "application/json"});
  headers.insert(headers.end(), headers_.begin(), headers_.end());
  return headers;
}

KafkaRecord KafkaRecordMaker::event(const Event& event) const {
  return {KafkaRole::events, event.item->name, json::serialize(event_to_json(event)),
          headers_of(event, "holdfast." + lower(event.name()), "")};
}

KafkaRecord KafkaRecordMaker::order(const Event& event) const {
  CHECK(event.is(ReservationEvent::reserve));
  return {KafkaRole::orders, event.item->name, json::serialize(order_to_json(event)),
          headers_of(event, "holdfast.order", "/order")};
}

KafkaRecord item_record(const std::string& sink, const ItemFacts& item) {
  if (item.dropped) return item_end(sink, item.name);
  return {KafkaRole::cursor, item_prefix(sink) + outside_text(item.name), json::serialize(facts_to_json(item)), {}};
}

KafkaRecord item_end(const std::string& sink, const std::string& name) {
  return {KafkaRole::cursor, item_prefix(sink) + outside_text(name), std::nullopt, {}};
}

std::vector<KafkaRecord> item_records(const std::string& sink, std::span<const Event> events) {
  std::map<std::string_view, const ItemFacts*> last;
  for (const Event& event : events) {
    if (event.item_change() != nullptr) last.insert_or_assign(event.item->name, event.item.get());
  }
  std::vector<KafkaRecord> records;
  records.reserve(last.size());
  for (const auto& [name, item] : last) records.push_back(item_record(sink, *item));
  return records;
}

KafkaRecord cursor_record(const std::string& sink, const KafkaCursor& cursor) {
  const std::string log = log_id_text(cursor.cursor.log);
  json::object value = {{"log", log},
                        {"lsn", cursor.cursor.lsn.value()},
                        {"epoch", cursor.cursor.epoch.value()},
                        {"owner", cursor.owner},
                        {"topics", offsets_to_json(cursor.topics)}};
  if (cursor.begins > Lsn()) {
    value["begins"] = cursor.begins.value();
    value["before"] = offsets_to_json(cursor.before);
  }
  return {KafkaRole::cursor, cursor_prefix(sink) + log, json::serialize(value), {}};
}

KafkaRecord cursor_end(const std::string& sink, const LogId& log) {
  return {KafkaRole::cursor, cursor_prefix(sink) + log_id_text(log), std::nullopt, {}};
}

KafkaCursorBook::KafkaCursorBook(const std::string& sink)
    : cursor_prefix_(cursor_prefix(sink)), item_prefix_(item_prefix(sink)) {}

Result<void> KafkaCursorBook::take(std::string_view key, std::optional<std::string_view> value) {
  if (key.starts_with(cursor_prefix_)) {
    if (!value) {
      // A later cursor, of another log, stands in its place, or a person made the sink begin anew.
      if (cursor_ && key.substr(cursor_prefix_.size()) == log_id_text(cursor_->cursor.log)) cursor_.reset();
      return {};
    }
    auto cursor = parse_cursor(*value);
    if (!cursor) return cursor.error();
    cursor_ = std::move(*cursor);
  } else if (key.starts_with(item_prefix_)) {
    const auto place = items_.find(key);
    if (!value) {
      if (place != items_.end()) items_.erase(place);
      return {};
    }
    auto facts = facts_from_json(*value);
    if (!facts) return facts.error();
    items_.insert_or_assign(std::string(key), std::move(*facts));
  }
  return {};
}

SinkItems KafkaCursorBook::items() const {
  SinkItems items;
  for (const auto& [key, facts] : items_) items.put(facts);
  return items;
}

std::vector<std::string> KafkaCursorBook::item_names() const {
  std::vector<std::string> names;
  names.reserve(items_.size());
  for (const auto& [key, facts] : items_) names.push_back(facts->name);
  return names;
}

}  // namespace holdfast
