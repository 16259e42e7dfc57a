#include "storage/hold_clock.h"

#include "protocol/check.h"

namespace holdfast {
namespace {

using std::chrono::nanoseconds;

/// Saturating: the points come from files.
nanoseconds difference(nanoseconds later, nanoseconds earlier) noexcept {
  std::int64_t out = 0;
  if (!__builtin_sub_overflow(later.count(), earlier.count(), &out)) return nanoseconds(out);
  return later > earlier ? nanoseconds::max() : nanoseconds::min();
}

nanoseconds sum(nanoseconds a, nanoseconds b) noexcept {
  std::int64_t out = 0;
  if (!__builtin_add_overflow(a.count(), b.count(), &out)) return nanoseconds(out);
  return b.count() > 0 ? nanoseconds::max() : nanoseconds::min();
}

}  // namespace

RunningClocks::RunningClocks(const Start& start) : boot_id_(start.boot_id) {
  if (!start.last) {
    hold_minus_boot_ = -start.now.boot;
    return;
  }
  const ClockPoint& last = *start.last;
  const bool same_boot = last.boot_id == start.boot_id;
  downtime_ = same_boot ? difference(start.now.boot, last.boot) : difference(start.now.wall, last.wall);
  if (start.doubted) verdict_ = DowntimeVerdict::doubted;
  if (downtime_.count() < 0) verdict_ = DowntimeVerdict::negative;
  if (downtime_ > start.downtime_max) verdict_ = DowntimeVerdict::too_long;
  const nanoseconds hold = sum(last.hold, std::max(downtime_, nanoseconds(0)));
  hold_minus_boot_ = difference(hold, start.now.boot);
  stamp_ = last.stamp;
}

Now RunningClocks::now(const ClockReading& reading) noexcept {
  const nanoseconds hold_ns = hold(reading);
  const Millis whole = std::chrono::floor<Millis>(hold_ns);
  const Millis apart = std::chrono::floor<Millis>(difference(reading.wall, hold_ns));
  if (apart < wall_minus_hold_ || apart > wall_minus_hold_ + Millis(1)) wall_minus_hold_ = apart;
  raise_stamp(WallTime(whole + wall_minus_hold_));
  return Now{HoldTime(whole), stamp_, whole == hold_ns ? Millis(0) : Millis(1)};
}

ClockPoint RunningClocks::point(const ClockReading& reading) const noexcept {
  return {hold(reading), reading.boot, reading.wall, stamp_, boot_id_};
}

void RunningClocks::raise_stamp(WallTime stamp) noexcept { stamp_ = std::max(stamp_, stamp); }

}  // namespace holdfast
