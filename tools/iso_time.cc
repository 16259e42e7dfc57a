#include "tools/iso_time.h"

#include "protocol/names.h"

#include <fmt/format.h>

#include <optional>

namespace holdfast {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_days;

constexpr std::int64_t kIsoMsMax = 253'402'300'799'999;  // the end of the year 9999

/// Takes a time's parts from the front of a text.
class TimeReader {
 public:
  explicit TimeReader(std::string_view text) : rest_(text) {}

  bool at_end() const noexcept { return rest_.empty(); }
  bool take(char c) noexcept {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  /// So many digits, at most `max`; nothing where there are other characters.
  std::optional<int> digits(std::size_t count, int max) noexcept {
    int number = 0;
    if (rest_.size() < count) return std::nullopt;
    for (const char c : rest_.substr(0, count)) {
      if (c < '0' || c > '9') return std::nullopt;
      number = number * 10 + (c - '0');
    }
    rest_.remove_prefix(count);
    return number <= max ? std::optional(number) : std::nullopt;
  }
  /// A fraction of a second, cut to milliseconds.
  std::optional<Millis> fraction() noexcept {
    int ms = 0;
    int scale = 100;
    std::size_t size = 0;
    for (; size < rest_.size() && rest_[size] >= '0' && rest_[size] <= '9'; ++size) {
      ms += (rest_[size] - '0') * scale;
      scale /= 10;
    }
    rest_.remove_prefix(size);
    return size == 0 ? std::nullopt : std::optional(Millis(ms));
  }

 private:
  std::string_view rest_;
};

std::optional<Millis> read_date(TimeReader& in) {
  const auto year = in.digits(4, 9999);
  if (!year || !in.take('-')) return std::nullopt;
  const auto month = in.digits(2, 12);
  if (!month || !in.take('-')) return std::nullopt;
  const auto day = in.digits(2, 31);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok()) return std::nullopt;
  return sys_days(date).time_since_epoch();
}

std::optional<Millis> read_hours(TimeReader& in) {
  const auto hour = in.digits(2, 23);
  if (!hour || !in.take(':')) return std::nullopt;
  const auto minute = in.digits(2, 59);
  if (!minute) return std::nullopt;
  return hours(*hour) + minutes(*minute);
}

std::optional<Millis> read_time_of_day(TimeReader& in) {
  auto time = read_hours(in);
  if (!time || !in.take(':')) return time;
  const auto second = in.digits(2, 60);
  if (!second) return std::nullopt;
  *time += seconds(*second);
  if (!in.take('.')) return time;
  const auto fraction = in.fraction();
  if (!fraction) return std::nullopt;
  return *time + *fraction;
}

std::optional<Millis> read_iso(TimeReader in) {
  auto time = read_date(in);
  if (!time || in.at_end()) return time;
  if (!in.take('T') && !in.take(' ')) return std::nullopt;
  const auto of_day = read_time_of_day(in);
  if (!of_day) return std::nullopt;
  *time += *of_day;
  if (in.at_end() || in.take('Z')) return in.at_end() ? time : std::nullopt;
  const bool east = in.take('+');
  if (!east && !in.take('-')) return std::nullopt;
  const auto offset = read_hours(in);
  if (!offset || !in.at_end()) return std::nullopt;
  return east ? *time - *offset : *time + *offset;
}

}  // namespace

std::string iso_time(WallTime time) {
  if (to_ms(time) < 0 || to_ms(time) > kIsoMsMax) return fmt::format("{}", to_ms(time));
  const auto day = std::chrono::floor<days>(time.time_since_epoch());
  const std::chrono::year_month_day date{sys_days(day)};
  const std::chrono::hh_mm_ss of_day(time.time_since_epoch() - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), of_day.hours().count(),
                     of_day.minutes().count(), of_day.seconds().count(), of_day.subseconds().count());
}

Result<WallTime> parse_time(std::string_view text) {
  std::uint64_t ms = 0;
  if (parse_canonical(text, static_cast<std::uint64_t>(kIsoMsMax), ms)) return wall_time(static_cast<std::int64_t>(ms));
  if (const auto time = read_iso(TimeReader(text))) return WallTime(*time);
  return Error::format(ErrorCode::bad_option,
                       "'{}' is no time; write 2026-11-30T08:15:00Z, 2026-11-30 09:15:00.5+01:00, or Unix milliseconds",
                       Echo(text).text());
}

}  // namespace holdfast
