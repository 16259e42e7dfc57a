#include "replication/cursor.h"

namespace holdfast {
namespace {

constexpr std::size_t kDigits = 2 * sizeof(LogId);

int digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

bool is_log(const LogId& id) noexcept { return id != LogId{}; }

Result<LogId> parse_log_id(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c != '-') digits += c;
  }
  LogId id{};
  bool sound = digits.size() == kDigits;
  for (std::size_t i = 0; sound && i < id.size(); ++i) {
    const int high = digit(digits[2 * i]), low = digit(digits[2 * i + 1]);
    sound = high >= 0 && low >= 0;
    if (sound) id[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  if (!sound) return Error::format(ErrorCode::damaged, "'{}' is no log id", Echo(text).text());
  return id;
}

Result<void> check_cursor(const Cursor& cursor, const LogRange& range) {
  if (is_log(cursor.log) && cursor.log != range.log) {
    return Error::format(
        ErrorCode::foreign,
        "the sink stands at LSN {} of log {}, and the server has log {}: connect to the server of that log, or, "
        "if the server went on from it, run holdfast-relay {}",
        cursor.lsn.value(), log_id_text(cursor.log), log_id_text(range.log),
        check_adoption(cursor, range) ? "adopt" : "bootstrap");
  }
  if (cursor.lsn > range.durable) {
    return Error::format(
        ErrorCode::damaged,
        "the sink stands at LSN {}, and the server's log ends at {}: the server lost records that the "
        "sink has, or runs on an old copy of its directory: connect to the server that has them, or run "
        "holdfast-relay bootstrap, which begins anew with a snapshot",
        cursor.lsn.value(), range.durable.value());
  }
  if (cursor.lsn.next() < range.oldest) {
    return Error::format(
        ErrorCode::damaged,
        "the sink needs LSN {}, and the server's log begins at {}: what is between is gone; run holdfast-relay "
        "bootstrap, which begins anew with a snapshot",
        cursor.lsn.value() + 1, range.oldest.value());
  }
  return {};
}

Result<void> check_adoption(const Cursor& cursor, const LogRange& range) {
  if (!is_log(range.forked_from) || range.forked_from != cursor.log) {
    return Error::format(ErrorCode::foreign,
                         "the sink stands in log {}, and the server's log {} does not go on from that one: run "
                         "holdfast-relay bootstrap",
                         log_id_text(cursor.log), log_id_text(range.log));
  }
  if (cursor.lsn > range.forked_at) {
    return Error::format(
        ErrorCode::foreign,
        "the sink has LSN {}, and the server's log parted from that one after {}: what the sink has more "
        "never happened there; run holdfast-relay bootstrap",
        cursor.lsn.value(), range.forked_at.value());
  }
  return {};
}

}  // namespace holdfast
