#include "server/sink_requests.h"

#include "protocol/names.h"

#include <algorithm>

namespace holdfast {
namespace {

bool is_printable(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '!' && c <= '~'; });
}

/// A name that STAGE can tell from its own words.
Result<std::string> parse_sink_name(std::string_view word) {
  const bool stage = equals_ignoring_case(word, "APPLIED") || equals_ignoring_case(word, "DURABLE") ||
                     equals_ignoring_case(word, "DONE");
  if (word.empty() || word.size() > kSinkNameBytesMax || !is_printable(word) || stage) {
    return Error::format(ErrorCode::err,
                         "a sink's name has 1-{} printable bytes without spaces, and is not applied, durable or done; "
                         "got '{}'",
                         kSinkNameBytesMax, Echo(word).text());
  }
  return std::string(word);
}

/// REQUIRES: three words.
Result<ParkedKey> parse_parked(Words words) {
  const auto item = ItemName::parse(words[0]);
  if (!item) return item.error();
  std::uint64_t version = 0;
  if (!parse_canonical(words[1], INT64_MAX, version) || version == 0) {
    return Error::format(ErrorCode::err, "version must be a number of 1..2^63-1, got '{}'", Echo(words[1]).text());
  }
  ParkedKey key{std::string(item->bytes()), ItemVersion(version), {}};
  std::uint64_t sequence = 0;
  if (const auto id = ReservationId::parse(words[2]); id) {
    const auto text = id->text();
    key.id.assign(text.data(), text.size());
  } else if (parse_canonical(words[2], UINT64_MAX, sequence)) {
    key.id = words[2];
  } else {
    return Error::format(ErrorCode::err, "what is parked has a UUID or a sequence number, got '{}'",
                         Echo(words[2]).text());
  }
  return key;
}

}  // namespace

Result<SinkAck> parse_log_ack(Words words) {
  SinkAck ack;
  auto name = parse_sink_name(words[2]);
  if (!name) return name.error();
  ack.sink = std::move(*name);
  std::uint64_t lsn = 0;
  if (!parse_canonical(words[3], UINT64_MAX, lsn)) {
    return Error::format(ErrorCode::err, "lsn must be a number, got '{}'", Echo(words[3]).text());
  }
  ack.lsn = Lsn(lsn);
  for (std::size_t at = 4; at < words.size();) {
    const bool park = equals_ignoring_case(words[at], "PARK");
    if (!park && !equals_ignoring_case(words[at], "UNPARK")) {
      return Error::format(ErrorCode::err, "expected PARK or UNPARK, got '{}'", Echo(words[at]).text());
    }
    const std::size_t count = park ? 4 : 3;
    if (words.size() - at - 1 < count) {
      return Error::format(ErrorCode::err, "{} needs item, version, id{}", park ? "PARK" : "UNPARK",
                           park ? " and reason" : "");
    }
    auto key = parse_parked(words.subspan(at + 1, 3));
    if (!key) return key.error();
    const std::string_view reason = park ? words[at + 4] : std::string_view("-");
    if (reason.empty() || reason.size() > kParkedReasonBytesMax || !is_printable(reason)) {
      return Error::format(ErrorCode::err, "a reason has 1-{} printable bytes without spaces, got '{}'",
                           kParkedReasonBytesMax, Echo(reason).text());
    }
    if (park) {
      ack.park.push_back({std::move(*key), std::string(reason)});
    } else {
      ack.unpark.push_back(std::move(*key));
    }
    at += 1 + count;
  }
  return ack;
}

Result<std::optional<std::string_view>> parse_log_sinks(Words words) {
  if (words.size() == 2) return std::optional<std::string_view>();
  const bool drop =
      words.size() == 5 && equals_ignoring_case(words[2], "DROP") && equals_ignoring_case(words[4], "CONFIRM");
  if (drop) return std::optional<std::string_view>(words[3]);
  return Error(ErrorCode::err, "expected LOG SINKS, or LOG SINKS DROP name CONFIRM");
}

}  // namespace holdfast
