// How the hold clock and the wall clock run: from what the machine shows now and where they stood when the last batch or
// mark was written. Deterministic, without I/O. A value: each thread has its own copy.
//
// hold = CLOCK_BOOTTIME + a constant that is fixed at start:
//   same boot       it continues exactly: the seconds between stop and start count
//   another boot    the difference of CLOCK_REALTIME counts instead
//   a new log       it starts at 0
// A difference that is negative counts as 0. The wall clock is the hold clock plus whole milliseconds, taken anew when
// CLOCK_REALTIME is behind that or two milliseconds ahead, and held back where it would step backwards: so both advance
// in the same moment, and one offset in a record serves both.
#pragma once

#include "protocol/types.h"
#include "storage/clock.h"

#include <optional>

namespace holdfast {

/// Where the clocks stood at one moment; in every batch header and in the mark.
struct ClockPoint {
  std::chrono::nanoseconds hold{};
  std::chrono::nanoseconds boot{};  // CLOCK_BOOTTIME as read
  std::chrono::nanoseconds wall{};  // CLOCK_REALTIME as read
  WallTime stamp{};                 // the latest wall stamp given to a record
  BootId boot_id{};
  bool operator==(const ClockPoint&) const noexcept = default;
};

/// Whether the time between stop and start can be believed.
enum class DowntimeVerdict : std::uint8_t {
  accepted,
  too_long,  // more than --downtime-max: start with returns held and an alarm
  negative,  // the clocks went backwards: the same
  doubted,   // an earlier start found one of these, and nothing was written since: the same
};

/// The two running clocks.
class RunningClocks {
 public:
  struct Start {
    std::optional<ClockPoint> last;  // nothing: a new log
    ClockReading now;
    BootId boot_id{};
    Millis downtime_max{};
    bool doubted = false;  // an earlier start did not believe its downtime, and nothing was written since
  };

  explicit RunningClocks(const Start& start);

  DowntimeVerdict verdict() const noexcept { return verdict_; }
  /// Time between the last point and the start; negative where the verdict says so, 0 for a new log.
  std::chrono::nanoseconds downtime() const noexcept { return downtime_; }
  /// True when items must start with returns held until an operator says ITEM RETURNS * FREE.
  bool returns_held() const noexcept { return verdict_ != DowntimeVerdict::accepted; }

  /// What a step is told. `wall` never decreases from call to call.
  Now now(const ClockReading& reading) noexcept;
  /// The hold clock in nanoseconds, for views and leases.
  std::chrono::nanoseconds hold(const ClockReading& reading) const noexcept { return reading.boot + hold_minus_boot_; }
  /// For a batch header or the mark.
  ClockPoint point(const ClockReading& reading) const noexcept;
  /// No later stamp is below this one; used by the log for the groups it writes.
  void raise_stamp(WallTime stamp) noexcept;

 private:
  std::chrono::nanoseconds hold_minus_boot_{};
  Millis wall_minus_hold_ = Millis::min();
  std::chrono::nanoseconds downtime_{};
  WallTime stamp_{};
  BootId boot_id_{};
  DowntimeVerdict verdict_ = DowntimeVerdict::accepted;
};

}  // namespace holdfast
