#include "server/requests.h"

#include "server/option_reader.h"

#include <fmt/format.h>

#include <array>

namespace holdfast {
namespace {

constexpr std::uint64_t kQuantityMax = kStockMax;
constexpr std::uint64_t kTtlWordMax = INT64_MAX;  // RESERVE and EXTEND cut a TTL to max-hold
constexpr std::string_view kOwner = "-";

Result<UserId> parse_user(std::string_view word) {
  if (word == kOwner) {
    return Error(
        ErrorCode::err,
        "user '-' stands for the owner of an ID and is allowed only with ID in CONFIRM, RELEASE, REFUND and EXTEND");
  }
  return UserId::parse(word);
}

Error missing(std::string_view option) { return Error::format(ErrorCode::err, "{} is missing", option); }

std::optional<ReservationState> parse_reservation_state(std::string_view word) {
  for (const auto state : {ReservationState::reserved, ReservationState::confirmed, ReservationState::released,
                           ReservationState::expired, ReservationState::refunded}) {
    if (equals_ignoring_case(word, state_name(state))) return state;
  }
  return std::nullopt;
}

std::optional<ItemState> parse_item_state(std::string_view word) {
  for (const auto state : {ItemState::draft, ItemState::ready, ItemState::open, ItemState::paused, ItemState::closed}) {
    if (equals_ignoring_case(word, state_name(state))) return state;
  }
  return std::nullopt;
}

Error bad_state(std::string_view word) {
  return Error::format(ErrorCode::err, "unknown STATE '{}'", Echo(word).text());
}

}  // namespace

Result<ReserveRequest> parse_reserve(Words words) {
  const auto item = ItemName::parse(words[1]);
  if (!item) return item.error();
  const auto user = parse_user(words[2]);
  if (!user) return user.error();
  ReserveRequest request{*item, *user};
  OptionReader options(words, 3);
  while (!options.at_end() && !options.failed()) {
    if (options.take("QTY", 0)) {
      request.quantity = static_cast<std::int64_t>(options.number(1, kQuantityMax));
    } else if (options.take("ID", 1)) {
      request.id = options.parsed<ReservationId>();
    } else if (options.take("TTL", 2)) {
      request.ttl = Millis(options.number(1, kTtlWordMax));
    } else if (options.take("TOKEN", 3)) {
      options.value();  // no item has tokens: ignored
      request.token = true;
    } else if (options.take("DETAILS", 4)) {
      request.details = true;
    } else {
      options.unknown();
    }
  }
  if (options.failed()) return options.error();
  return request;
}

Result<VerbRequest> parse_verb(CommandId verb, Words words) {
  const auto item = ItemName::parse(words[1]);
  if (!item) return item.error();
  VerbRequest request{*item};
  OptionReader options(words, 3);
  while (!options.at_end() && !options.failed()) {
    if (options.take("ID", 0)) {
      request.id = options.parsed<ReservationId>();
    } else if (verb == CommandId::confirm && options.take("RESUME", 1)) {
      request.resume = true;
    } else if ((verb == CommandId::release || verb == CommandId::refund) && options.take("WRITEOFF", 2)) {
      request.write_off = true;
    } else if (verb == CommandId::extend && options.take("TTL", 3)) {
      request.ttl = Millis(options.number(1, kTtlWordMax));
    } else {
      options.unknown();
    }
  }
  if (options.failed()) return options.error();
  if (verb == CommandId::refund && !request.id) return missing("ID");
  if (verb == CommandId::extend && !options.has(3)) return missing("TTL");
  if (words[2] == kOwner && request.id) return request;
  const auto user = parse_user(words[2]);
  if (!user) return user.error();
  request.user = *user;
  return request;
}

Result<ReservationGetRequest> parse_reservation_get(Words words) {
  const auto item = ItemName::parse(words[2]);
  if (!item) return item.error();
  ReservationGetRequest request{*item, {}, {}};
  OptionReader options(words, 3);
  if (options.take("ID", 0)) {
    request.id = options.parsed<ReservationId>();
  } else if (options.take("USER", 1)) {
    const auto user = parse_user(options.value());
    if (user) request.user = *user;
    if (!user) options.fail(user.error());
  } else {
    options.unknown();
  }
  if (!options.failed() && !options.at_end()) options.unknown();
  if (options.failed()) return options.error();
  return request;
}

Result<ReservationListRequest> parse_reservation_list(Words words) {
  const auto item = ItemName::parse(words[2]);
  if (!item) return item.error();
  ReservationListRequest request{*item, 0, kPageDefault, {}};
  OptionReader options(words, 3);
  while (!options.at_end() && !options.failed()) {
    if (options.take("CURSOR", 0)) {
      request.cursor = static_cast<std::uint32_t>(options.number(0, UINT32_MAX));
    } else if (options.take("COUNT", 1)) {
      request.count = options.number(1, kPageMax);
    } else if (options.take("STATE", 2)) {
      const std::string_view word = options.value();
      request.state = parse_reservation_state(word);
      if (!request.state) options.fail(bad_state(word));
    } else {
      options.unknown();
    }
  }
  if (options.failed()) return options.error();
  return request;
}

Result<ReservationWaitRequest> parse_reservation_wait(Words words) {
  const auto item = ItemName::parse(words[2]);
  if (!item) return item.error();
  ReservationWaitRequest request{*item, {}, {}, {}, {}};
  OptionReader options(words, 3);
  while (!options.at_end() && !options.failed()) {
    if (options.take("ID", 0)) {
      request.id = options.parsed<ReservationId>().value_or(ReservationId());
    } else if (options.take("STAGE", 1)) {
      const std::string_view word = options.value();
      if (equals_ignoring_case(word, "APPLIED")) {
        request.stage = Stage::applied;
      } else if (equals_ignoring_case(word, "DURABLE")) {
        request.stage = Stage::durable;
      } else if (equals_ignoring_case(word, "DONE")) {
        request.stage = Stage::done;
      } else {
        request.sink = word;
      }
    } else if (options.take("TIMEOUT", 2)) {
      request.timeout = Millis(options.number(0, static_cast<std::uint64_t>(kHoldMax.count())));
    } else {
      options.unknown();
    }
  }
  if (options.failed()) return options.error();
  if (!options.has(0) || !options.has(1) || !options.has(2)) return missing("ID, STAGE or TIMEOUT");
  return request;
}

Result<ItemListRequest> parse_item_list(Words words) {
  ItemListRequest request;
  OptionReader options(words, 2);
  while (!options.at_end() && !options.failed()) {
    if (options.take("CURSOR", 0)) {
      request.cursor = options.number(0, UINT64_MAX);
    } else if (options.take("COUNT", 1)) {
      request.count = options.number(1, kPageMax);
    } else if (options.take("MATCH", 2)) {
      request.pattern = options.value();
      if (request.pattern->size() > kPatternBytesMax) {
        options.fail(Error::format(ErrorCode::err, "MATCH pattern has {} bytes; it has at most {}",
                                   request.pattern->size(), kPatternBytesMax));
      }
    } else if (options.take("STATE", 3)) {
      const std::string_view word = options.value();
      request.state = parse_item_state(word);
      if (!request.state) options.fail(bad_state(word));
    } else {
      options.unknown();
    }
  }
  if (options.failed()) return options.error();
  return request;
}

Result<AdjustRequest> parse_adjust(Words words) {
  const auto item = ItemName::parse(words[2]);
  if (!item) return item.error();
  AdjustRequest request{*item, 0, {}, {}};
  if (!parse_integer(words[3], request.delta)) {
    return Error::format(ErrorCode::err, "delta must be an integer, got '{}'", Echo(words[3]).text());
  }
  OptionReader options(words, 4);
  while (!options.at_end() && !options.failed()) {
    if (options.take("ID", 0)) {
      request.id = options.parsed<ReservationId>().value_or(ReservationId());
    } else if (options.take("REASON", 1)) {
      request.reason = options.value();
      if (request.reason.size() > kReasonBytesMax) {
        options.fail(Error::format(ErrorCode::err, "REASON has {} bytes; it has at most {}", request.reason.size(),
                                   kReasonBytesMax));
      }
    } else {
      options.unknown();
    }
  }
  if (options.failed()) return options.error();
  if (!options.has(0)) return missing("ID");
  if (!options.has(1)) return missing("REASON");
  return request;
}

Result<bool> parse_returns(Words words) {
  if (equals_ignoring_case(words[3], "HOLD")) return true;
  if (equals_ignoring_case(words[3], "FREE")) return false;
  return Error::format(ErrorCode::err, "expected HOLD or FREE, got '{}'", Echo(words[3]).text());
}

Result<Sequence> parse_unfence(Words words) {
  OptionReader options(words, 3);
  std::uint64_t sequence = 0;
  if (options.take("EXPECT", 0)) {
    sequence = options.number(1, UINT64_MAX);
  } else {
    options.unknown();
  }
  if (options.failed()) return options.error();
  return Sequence(sequence);
}

Result<bool> parse_drop(Words words) {
  OptionReader options(words, 3);
  while (!options.at_end() && !options.failed()) {
    if (!options.take("CONFIRMED-TOO", 0)) options.unknown();
  }
  if (options.failed()) return options.error();
  return options.has(0);
}

Result<ScanRequest> parse_scan(Words words) {
  ScanRequest request;
  if (!parse_canonical(words[1], UINT64_MAX, request.cursor)) return Error(ErrorCode::err, "invalid cursor");
  OptionReader options(words, 2);
  while (!options.at_end() && !options.failed()) {
    if (options.take("COUNT", 0)) {
      std::int64_t count = 0;
      if (!parse_integer(options.value(), count)) {
        options.fail(Error(ErrorCode::err, "value is not an integer or out of range"));
      }
      if (count < 1) options.fail(Error(ErrorCode::err, "syntax error"));
      request.count = std::min(static_cast<std::uint64_t>(count), kPageMax);
    } else if (options.take("MATCH", 1)) {
      request.pattern = options.value();
      if (request.pattern->size() > kPatternBytesMax) {
        options.fail(Error::format(ErrorCode::err, "MATCH pattern has {} bytes; it has at most {}",
                                   request.pattern->size(), kPatternBytesMax));
      }
    } else if (options.take("TYPE", 2)) {
      request.type = options.value();
    } else {
      options.fail(Error(ErrorCode::err, "syntax error"));
    }
  }
  if (options.failed()) return options.error();
  return request;
}

std::string view_key_text(std::string_view item, KeyKind kind) {
  const bool braces = item.find_first_of("{}") != std::string_view::npos;
  return fmt::format("{}{}{}{}", braces ? "" : "{", item, braces ? "" : "}",
                     kind == KeyKind::stock ? ":stock" : ":buyers");
}

ViewKey parse_view_key(std::string_view key) {
  struct Suffix {
    std::string_view text;
    KeyKind kind;
  };
  for (const Suffix suffix : {Suffix{":stock", KeyKind::stock}, Suffix{":buyers", KeyKind::buyers}}) {
    if (key.size() <= suffix.text.size() || !key.ends_with(suffix.text)) continue;
    const auto item = ItemName::parse(key.substr(0, key.size() - suffix.text.size()));
    if (item) return {suffix.kind, *item};
  }
  return {};
}

}  // namespace holdfast
