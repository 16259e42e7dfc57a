#include "replication/topic_record.h"

#include "protocol/check.h"
#include "protocol/outside_text.h"
#include "replication/dead_letter.h"
#include "replication/event_json.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

namespace holdfast {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 3> kOffer = {"price", "currency", "saleId"};

bool of_offer(std::string_view member) { return std::find(kOffer.begin(), kOffer.end(), member) != kOffer.end(); }

std::uint64_t sum_of(std::string_view name, std::string_view value) {
  return XXH3_64bits_withSeed(value.data(), value.size(), XXH3_64bits(name.data(), name.size()));
}

std::string shown(const json::value& value) { return json::serialize(value); }

}  // namespace

RecordSums record_sums(std::string_view key, const json::object& value) {
  RecordSums sums;
  sums.rest = sum_of("", key);
  for (const auto& member : value) {
    const std::string_view name(member.key());
    (of_offer(name) ? sums.offer : sums.rest) += sum_of(name, json::serialize(member.value()));
  }
  return sums;
}

std::optional<json::object> record_value(const KafkaMessage& message) {
  return message.value ? object_in(*message.value) : std::nullopt;
}

json::object expected_value(KafkaRole role, const Event& event) {
  return role == KafkaRole::orders ? order_to_json(event) : event_to_json(event);
}

std::optional<TopicRecord> read_topic_record(KafkaRole role, const KafkaMessage& message) {
  CHECK(role != KafkaRole::cursor);
  const auto value = record_value(message);
  if (!value) return std::nullopt;
  const json::value *const item = value->if_contains("item"), *const event = value->if_contains("event");
  const auto version = natural_in(*value, "version"), sequence = natural_in(*value, "sequence"),
             lsn = natural_in(*value, "lsn");
  if (item == nullptr || !item->is_string() || !version || !sequence || *sequence == 0) return std::nullopt;
  const bool is_event = event != nullptr && event->is_string() && lsn;
  if (is_event != (role == KafkaRole::events)) return std::nullopt;
  TopicRecord record;
  record.item = std::string(item->get_string());
  record.version = ItemVersion(*version);
  record.sequence = Sequence(*sequence);
  record.lsn = Lsn(lsn.value_or(0));
  record.placed = !is_event || event->get_string() == event_name(ReservationEvent::reserve);
  record.replay = message.header(kReplayHeader) != nullptr;
  record.sums = record_sums(message.key, *value);
  return record;
}

std::string differing_members(const json::object& found, const json::object& right, bool offer) {
  std::vector<std::string> members;
  const auto passed_over = [&](std::string_view name) { return !offer && of_offer(name); };
  for (const auto& member : right) {
    if (passed_over(std::string_view(member.key()))) continue;
    const json::value* const value = found.if_contains(member.key());
    const std::string wanted = shown(member.value());
    if (value == nullptr) {
      members.push_back(fmt::format("{} gone instead of {}", std::string_view(member.key()), wanted));
    } else if (const std::string is = shown(*value); is != wanted) {
      members.push_back(fmt::format("{} {} instead of {}", std::string_view(member.key()), is, wanted));
    }
  }
  for (const auto& member : found) {
    if (!right.contains(member.key()))
      members.push_back(fmt::format("{} {} added", std::string_view(member.key()), shown(member.value())));
  }
  return fmt::format("{}", fmt::join(members, ", "));
}

}  // namespace holdfast
