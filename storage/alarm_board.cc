#include "storage/alarm_board.h"

#include <fmt/format.h>

namespace holdfast {
namespace {

std::uint32_t bit(LogAlarm alarm) noexcept { return 1U << static_cast<unsigned>(alarm); }

}  // namespace

void AlarmBoard::raise(LogAlarm alarm, std::string_view why) {
  status_.alarm_count[static_cast<std::size_t>(alarm)].fetch_add(1, std::memory_order_relaxed);
  const auto before = status_.alarms.fetch_or(bit(alarm), std::memory_order_relaxed);
  if ((before & bit(alarm)) == 0 && settings_.notice) {
    settings_.notice(fmt::format("alarm {}: {}", alarm_name(alarm), why));
  }
}

void AlarmBoard::clear(LogAlarm alarm) {
  if (!status_.has(alarm)) return;
  status_.alarms.fetch_and(~bit(alarm), std::memory_order_relaxed);
  if (settings_.notice) settings_.notice(fmt::format("alarm {} is over", alarm_name(alarm)));
}

}  // namespace holdfast
