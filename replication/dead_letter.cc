#include "replication/dead_letter.h"

#include "protocol/check.h"
#include "protocol/outside_text.h"
#include "replication/event_json.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <limits>

namespace holdfast {
namespace {

namespace json = boost::json;

constexpr std::string_view kSource = "urn:holdfast:";
/// What consumers add when they refuse a record: Spring, its retry topics, Kafka Connect.
constexpr std::array<std::string_view, 5> kRefusalPrefixes = {"kafka_dlt-", "kafka_exception-", "kafka_original-",
                                                              "retry_topic-", "__connect.errors."};
/// The kind of an error, and its text; the first pair of which one is there.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kReasonHeaders = {
    {{"kafka_dlt-exception-fqcn", "kafka_dlt-exception-message"},
     {"kafka_exception-fqcn", "kafka_exception-message"},
     {"__connect.errors.exception.class.name", "__connect.errors.exception.message"},
     {"", "error"},
     {"", "reason"}}};

std::string prefix_of(const std::string& topic) { return "dlt/" + dead_letter_topic(topic) + "/"; }

/// Of all that a consumer takes from a record.
std::string sum_of(const KafkaMessage& message) {
  const std::string bytes = fmt::format("{}/{}/{}/", to_ms(message.at), message.key.size(), message.value.has_value()) +
                            message.key + message.value.value_or("");
  const XXH128_hash_t sum = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", sum.high64, sum.low64);
}

std::string user_text(const json::value* value) {
  if (value == nullptr) return "";
  return value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
}

std::optional<DeadOrder> order_in(std::string_view text) {
  const auto from = object_in(text);
  if (!from) return std::nullopt;
  const auto *const item = from->if_contains("item"), *const id = from->if_contains("orderId");
  const auto version = natural_in(*from, "version"), sequence = natural_in(*from, "sequence"),
             quantity = natural_in(*from, "quantity");
  if (item == nullptr || !item->is_string() || id == nullptr || !id->is_string() || !version) return std::nullopt;
  auto name = inside_bytes(std::string_view(item->get_string()));
  const auto parsed = ReservationId::parse(std::string_view(id->get_string()));
  if (!name || !parsed || !ItemName::parse(*name)) return std::nullopt;
  return DeadOrder{std::move(*name),
                   ItemVersion(*version),
                   *parsed,
                   user_text(from->if_contains("userId")),
                   static_cast<std::int64_t>(quantity.value_or(0)),
                   sequence.value_or(0)};
}

std::string reason_in(const KafkaMessage& message) {
  for (const auto& [kind_name, text_name] : kReasonHeaders) {
    const std::string *const kind = message.header(kind_name), *const text = message.header(text_name);
    if (kind == nullptr && text == nullptr) continue;
    if (kind == nullptr || text == nullptr) return outside_text(kind == nullptr ? *text : *kind);
    return outside_text(*kind) + ": " + outside_text(*text);
  }
  return "";
}

/// As Java's ByteBuffer writes a number.
std::optional<std::int64_t> big_endian(const std::string* bytes, std::size_t size) {
  if (bytes == nullptr || bytes->size() != size) return std::nullopt;
  std::uint64_t number = 0;
  for (const char byte : *bytes) number = number << 8U | static_cast<std::uint8_t>(byte);
  return static_cast<std::int64_t>(number);
}

std::string origin_in(const KafkaMessage& message) {
  for (const std::string prefix : {"kafka_dlt-original-", "kafka_original-"}) {
    const auto partition = big_endian(message.header(prefix + "partition"), 4),
               offset = big_endian(message.header(prefix + "offset"), 8);
    if (partition && offset) return fmt::format("{}/{}", *partition, *offset);
  }
  const std::string *const partition = message.header("__connect.errors.partition"), *const offset = message.header(
                                                                                         "__connect.errors.offset");
  if (partition == nullptr || offset == nullptr) return "";
  return outside_text(*partition) + "/" + outside_text(*offset);
}

std::optional<LogId> log_in(const KafkaMessage& message) {
  const std::string* const source = message.header("ce_source");
  if (source == nullptr || !source->starts_with(kSource)) return std::nullopt;
  const auto log = parse_log_id(std::string_view(*source).substr(kSource.size()));
  return log ? std::optional(*log) : std::nullopt;
}

bool of_refusal(const KafkaHeader& header) {
  return header.name == kReplayHeader ||
         std::any_of(kRefusalPrefixes.begin(), kRefusalPrefixes.end(),
                     [&](std::string_view prefix) { return header.name.starts_with(prefix); });
}

}  // namespace

std::string dead_letter_topic(const std::string& topic) { return topic + ".DLT"; }

DeadLetter read_dead_letter(KafkaMessage&& message) {
  DeadLetter letter;
  letter.message = std::move(message);
  if (letter.message.value) letter.order = order_in(*letter.message.value);
  letter.log = log_in(letter.message);
  letter.reason = reason_in(letter.message);
  letter.origin = origin_in(letter.message);
  return letter;
}

std::string place_text(KafkaPlace place) { return fmt::format("{}/{}", place.partition, place.offset); }

Result<KafkaPlace> parse_place(std::string_view text) {
  const std::size_t slash = text.find('/');
  std::uint64_t partition = 0, offset = 0;
  const bool sound = slash != std::string_view::npos &&
                     parse_canonical(text.substr(0, slash), std::numeric_limits<std::int32_t>::max(), partition) &&
                     parse_canonical(text.substr(slash + 1), std::numeric_limits<std::int64_t>::max(), offset);
  if (sound) return KafkaPlace{static_cast<std::int32_t>(partition), static_cast<std::int64_t>(offset)};
  return Error::format(ErrorCode::bad_option, "'{}' is no PARTITION/OFFSET, as dlt list shows them", Echo(text).text());
}

std::string_view dead_letter_state_name(DeadLetterState state) noexcept {
  switch (state) {
    case DeadLetterState::replayed:
      return "replayed";
    case DeadLetterState::cancelled:
      return "cancelled";
    default:
      return "waiting";
  }
}

KafkaRecord replay_record(const std::string& topic, const DeadLetter& letter) {
  KafkaRecord record{KafkaRole::orders, letter.message.key, letter.message.value, {}};
  for (const KafkaHeader& each : letter.message.headers) {
    if (!of_refusal(each)) record.headers.push_back(each);
  }
  record.headers.push_back(
      {std::string(kReplayHeader), dead_letter_topic(topic) + "/" + place_text(letter.message.place)});
  return record;
}

KafkaRecord mark_record(const std::string& topic, const DeadLetter& letter, DeadLetterMark mark) {
  CHECK(mark.state != DeadLetterState::waiting);
  const std::string_view state = dead_letter_state_name(mark.state);
  const json::object value = {{"state", json::string_view(state.data(), state.size())},
                              {"at", to_ms(mark.at)},
                              {"record", sum_of(letter.message)}};
  return {KafkaRole::cursor, prefix_of(topic) + place_text(letter.message.place), json::serialize(value), {}};
}

DeadLetterBook::DeadLetterBook(const std::string& topic) : prefix_(prefix_of(topic)) {}

Result<void> DeadLetterBook::take(std::string_view key, std::optional<std::string_view> value) {
  if (!key.starts_with(prefix_)) return {};
  const auto place = parse_place(key.substr(prefix_.size()));
  if (!place) return Error::format(ErrorCode::damaged, "'{}' is no dead letter's key", Echo(key).text());
  if (!value) {
    entries_.erase(*place);
    return {};
  }
  const auto from = object_in(*value).value_or(json::object());
  const auto* const state = from.if_contains("state");
  const auto* const at = from.if_contains("at");
  const auto* const sum = from.if_contains("record");
  const bool sound = state != nullptr && at != nullptr && at->is_int64() && sum != nullptr && sum->is_string();
  if (!sound || (*state != "replayed" && *state != "cancelled")) {
    return Error::format(ErrorCode::damaged, "'{}' is no mark of a dead letter", Echo(*value).text());
  }
  const auto done = *state == "replayed" ? DeadLetterState::replayed : DeadLetterState::cancelled;
  entries_.insert_or_assign(*place, Entry{{done, wall_time(at->get_int64())}, std::string(sum->get_string())});
  return {};
}

DeadLetterMark DeadLetterBook::of(const DeadLetter& letter) const {
  const auto found = entries_.find(letter.message.place);
  if (found == entries_.end() || found->second.sum != sum_of(letter.message)) return {};
  return found->second.mark;
}

std::vector<KafkaRecord> DeadLetterBook::ends_before(KafkaPlace first) const {
  std::vector<KafkaRecord> ends;
  for (auto each = entries_.lower_bound({first.partition, 0}); each != entries_.lower_bound(first); ++each)
    ends.push_back({KafkaRole::cursor, prefix_ + place_text(each->first), std::nullopt, {}});
  return ends;
}

}  // namespace holdfast
