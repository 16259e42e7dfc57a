#include "server/stream_requests.h"

#include "server/limits.h"
#include "server/option_reader.h"

#include <algorithm>
#include <charconv>

namespace holdfast {
namespace {

Error syntax_error() { return {ErrorCode::err, "syntax error"}; }
Error not_integer() { return {ErrorCode::err, "value is not an integer or out of range"}; }
Error bad_id() { return {ErrorCode::err, "Invalid stream ID specified as stream command argument"}; }

/// BLOCK's milliseconds; 0 means as long as may be.
Result<Millis> parse_block(std::string_view word) {
  std::int64_t milliseconds = 0;
  if (!parse_integer(word, milliseconds)) return Error(ErrorCode::err, "timeout is not an integer or out of range");
  if (milliseconds < 0) return Error(ErrorCode::err, "timeout is negative");
  return milliseconds == 0 ? kWaitMax : std::min(Millis(milliseconds), kWaitMax);
}

/// The first LSN of an interval that begins with this id.
Result<Lsn> interval_begin(std::string_view text) {
  if (text == "-") return Lsn();
  if (text == "+") return Lsn(UINT64_MAX);
  const bool open = text.starts_with('(');
  const auto id = StreamId::parse(text.substr(open ? 1 : 0), 0);
  if (!id) return bad_id();
  if (!open && id->part == 0) return Lsn(id->lsn);
  if (id->lsn < UINT64_MAX) return Lsn(id->lsn + 1);
  if (open && id->part == UINT64_MAX) return Error(ErrorCode::err, "invalid start ID for the interval");
  return Lsn(UINT64_MAX);  // no record has it
}

/// The last LSN of an interval that ends with this id; none for an interval without any.
Result<Lsn> interval_end(std::string_view text) {
  if (text == "-") return Lsn();
  if (text == "+") return Lsn(UINT64_MAX);
  const bool open = text.starts_with('(');
  const auto id = StreamId::parse(text.substr(open ? 1 : 0), UINT64_MAX);
  if (!id) return bad_id();
  if (!open || id->part > 0) return Lsn(id->lsn);
  if (id->lsn == 0) return Error(ErrorCode::err, "invalid end ID for the interval");
  return Lsn(id->lsn - 1);
}

/// Digits, also with zeros before them.
bool parse_digits(std::string_view text, std::uint64_t& number) noexcept {
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

}  // namespace

std::optional<StreamId> StreamId::parse(std::string_view text, std::uint64_t missing_part) noexcept {
  StreamId id{0, missing_part};
  const auto dash = text.find('-');
  if (!parse_digits(text.substr(0, dash), id.lsn)) return std::nullopt;
  if (dash != std::string_view::npos && !parse_digits(text.substr(dash + 1), id.part)) return std::nullopt;
  return id;
}

Result<LogReadRequest> parse_log_read(Words words) {
  LogReadRequest request;
  std::uint64_t from = 0;
  if (!parse_canonical(words[2], UINT64_MAX, from) || from == 0) {
    return Error::format(ErrorCode::err, "lsn must be a number from 1, got '{}'", Echo(words[2]).text());
  }
  request.from = Lsn(from);
  OptionReader options(words, 3);
  while (!options.at_end() && !options.failed()) {
    if (options.take("MAXBYTES", 0)) {
      request.bytes_max = std::min<std::uint64_t>(options.number(1, UINT64_MAX), kLogReadBytesMax);
    } else if (options.take("BLOCK", 1)) {
      const auto block = parse_block(options.value());
      if (!block) {
        options.fail(block.error());
      } else {
        request.block = *block;
      }
    } else {
      options.unknown();
    }
  }
  if (options.failed()) return options.error();
  if (!options.has(0)) return Error(ErrorCode::err, "MAXBYTES is missing");
  return request;
}

Result<LogSnapshotRequest> parse_log_snapshot(Words words) {
  LogSnapshotRequest request;
  std::uint64_t lsn = 0;
  if (!parse_canonical(words[2], UINT64_MAX, lsn)) {
    return Error::format(ErrorCode::err, "lsn must be a number, got '{}'", Echo(words[2]).text());
  }
  if (lsn > 0) request.lsn = Lsn(lsn);
  if (!parse_canonical(words[3], UINT64_MAX, request.offset)) {
    return Error::format(ErrorCode::err, "offset must be a number, got '{}'", Echo(words[3]).text());
  }
  OptionReader options(words, 4);
  while (!options.at_end() && !options.failed()) {
    if (options.take("MAXBYTES", 0)) {
      request.bytes_max = std::min<std::uint64_t>(options.number(1, UINT64_MAX), kLogReadBytesMax);
    } else {
      options.unknown();
    }
  }
  if (options.failed()) return options.error();
  return request;
}

Result<XreadRequest> parse_xread(Words words) {
  XreadRequest request;
  std::size_t at = 1;
  for (; at < words.size() && !equals_ignoring_case(words[at], "STREAMS"); at += 2) {
    if (at + 1 == words.size()) return syntax_error();
    if (equals_ignoring_case(words[at], "COUNT")) {
      std::int64_t count = 0;
      if (!parse_integer(words[at + 1], count)) return not_integer();
      request.count = count > 0 ? static_cast<std::uint64_t>(count) : UINT64_MAX;
    } else if (equals_ignoring_case(words[at], "BLOCK")) {
      const auto block = parse_block(words[at + 1]);
      if (!block) return block.error();
      request.block = *block;
    } else {
      return syntax_error();
    }
  }
  if (at + 1 >= words.size()) return syntax_error();
  const Words streams = words.subspan(at + 1);
  if (streams.size() % 2 != 0) {
    return Error(ErrorCode::err,
                 "Unbalanced 'xread' list of streams: for each stream key an ID or '$' must be specified.");
  }
  const std::size_t keys = streams.size() / 2;
  for (std::size_t i = 0; i < keys; ++i) {
    const std::string_view id = streams[keys + i];
    if (id == ">") {
      return Error(ErrorCode::err,
                   "The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option.");
    }
    std::optional<StreamId> after;
    if (id != "$") {
      after = StreamId::parse(id, 0);
      if (!after) return bad_id();
    }
    request.keys.push_back({streams[i], after});
  }
  return request;
}

Result<XrangeRequest> parse_xrange(Words words) {
  XrangeRequest request;
  const auto from = interval_begin(words[2]);
  if (!from) return from.error();
  const auto through = interval_end(words[3]);
  if (!through) return through.error();
  request.from = *from;
  request.through = *through;
  for (std::size_t at = 4; at < words.size(); at += 2) {
    if (!equals_ignoring_case(words[at], "COUNT") || at + 1 == words.size()) return syntax_error();
    std::int64_t count = 0;
    if (!parse_integer(words[at + 1], count)) return not_integer();
    request.count = static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0));
  }
  return request;
}

Result<XinfoRequest> parse_xinfo_stream(Words words) {
  XinfoRequest request;
  if (words.size() == 3) return request;
  request.full = equals_ignoring_case(words[3], "FULL");
  const bool counted = words.size() == 6 && equals_ignoring_case(words[4], "COUNT");
  if (!request.full || (words.size() != 4 && !counted)) {
    return Error::format(ErrorCode::err, "unknown subcommand or wrong number of arguments for '{}'. Try XINFO HELP.",
                         words[1]);
  }
  if (!counted) return request;
  std::int64_t count = 0;
  if (!parse_integer(words[5], count)) return not_integer();
  request.count = count < 0 ? 10 : count == 0 ? UINT64_MAX : static_cast<std::uint64_t>(count);
  return request;
}

}  // namespace holdfast
