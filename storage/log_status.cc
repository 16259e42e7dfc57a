#include "storage/log_status.h"

namespace holdfast {
namespace {

constexpr std::array<std::string_view, kLogAlarms> kAlarmNames = {"next_segment", "mark",       "space_unknown",
                                                                  "space_low",    "slow_flush", "identity_unknown",
                                                                  "sinks",        "retention",  "downtime"};
constexpr std::array<std::string_view, 4> kSpaceTexts = {
    "",
    "the next log segment is not ready; if this lasts, see the server's log",
    "the disk has too little free space for the log and its snapshots",
    "the disk has not finished a write of the log for too long",
};

}  // namespace

std::string_view alarm_name(LogAlarm alarm) noexcept { return kAlarmNames[static_cast<std::size_t>(alarm)]; }

std::string_view space_text(SpaceState state) noexcept { return kSpaceTexts[static_cast<std::size_t>(state)]; }

}  // namespace holdfast
