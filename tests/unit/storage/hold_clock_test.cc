#include "storage/hold_clock.h"
#include "tests/simulation/virtual_clock.h"
#include "tests/unit/storage/log_fixture.h"

#include "tests/doctest.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

RunningClocks started(VirtualClock& clock, const std::optional<ClockPoint>& last, Millis downtime_max = 24h) {
  return RunningClocks({last, clock.read(), clock.boot_id(), downtime_max});
}

}  // namespace

TEST_CASE("clocks: a new log's hold clock starts at 0 and rounds deadlines up, never early") {
  VirtualClock clock;
  auto clocks = started(clock, std::nullopt);
  CHECK(clocks.verdict() == DowntimeVerdict::accepted);
  CHECK(clocks.now(clock.read()).hold == hold_time(0));
  CHECK(clocks.now(clock.read()).round_up == 0ms);
  clock.advance(1500us);
  CHECK(clocks.now(clock.read()).hold == hold_time(1));
  CHECK(clocks.now(clock.read()).round_up == 1ms);
}

TEST_CASE("clocks: in the same boot the hold clock continues exactly, whatever the wall clock does") {
  VirtualClock clock;
  auto first = started(clock, std::nullopt);
  clock.advance(12'345'678ns);
  const auto last = first.point(clock.read());
  clock.step_wall(-1h);
  clock.step_boot(20s);
  auto second = started(clock, last);
  CHECK(second.hold(clock.read()) == 20s + 12'345'678ns);
  CHECK(second.downtime() == 20s);
  CHECK_FALSE(second.returns_held());
}

TEST_CASE("clocks: after a reboot the difference of the wall clock counts") {
  VirtualClock clock;
  auto first = started(clock, std::nullopt);
  clock.advance(10s);
  const auto last = first.point(clock.read());
  clock.reboot(90s);
  auto second = started(clock, last);
  CHECK(second.hold(clock.read()) == 100s);
  clock.advance(1s);
  CHECK(second.hold(clock.read()) == 101s);
}

TEST_CASE("clocks: a downtime too long or negative is not believed") {
  VirtualClock clock;
  auto first = started(clock, std::nullopt);
  clock.advance(10s);
  const auto last = first.point(clock.read());
  VirtualClock later(clock);
  later.reboot(25h);
  auto too_long = started(later, last);
  CHECK(too_long.verdict() == DowntimeVerdict::too_long);
  CHECK(too_long.returns_held());
  CHECK(too_long.hold(later.read()) == 10s + 25h);
  VirtualClock earlier(clock);
  earlier.reboot(0s);
  earlier.step_wall(-1s);
  auto negative = started(earlier, last);
  CHECK(negative.verdict() == DowntimeVerdict::negative);
  CHECK(negative.downtime() == -1s);
  CHECK(negative.hold(earlier.read()) == 10s);
}

TEST_CASE("clocks: the wall clock never goes back, also over a restart") {
  VirtualClock clock;
  auto first = started(clock, std::nullopt);
  const auto before = first.now(clock.read()).wall;
  clock.step_wall(-1h);
  CHECK(first.now(clock.read()).wall == before);
  clock.step_wall(2h);
  const auto ahead = first.now(clock.read()).wall;
  CHECK(ahead == before + 1h);
  const auto last = first.point(clock.read());
  clock.step_wall(-30min);
  auto second = started(clock, last);
  CHECK(second.now(clock.read()).wall == ahead);
}

TEST_CASE("clocks: both clocks advance in the same moment while nobody steps them") {
  VirtualClock clock;
  clock.step_wall(700us);
  auto clocks = started(clock, std::nullopt);
  const auto first = clocks.now(clock.read());
  for (int step = 0; step < 1000; ++step) {
    clock.advance(100us);
    clock.step_wall(step % 2 == 0 ? 300us : -300us);
    const auto now = clocks.now(clock.read());
    CHECK(now.wall - first.wall == now.hold - first.hold);
  }
}

TEST_CASE("clocks: points at the ends of the range do no harm") {
  VirtualClock clock;
  for (const auto extreme : {std::chrono::nanoseconds::max(), std::chrono::nanoseconds::min()}) {
    const ClockPoint last{extreme, extreme, extreme, wall_time(5), clock.boot_id()};
    auto same_boot = started(clock, last);
    CHECK(same_boot.returns_held());
    (void)same_boot.now(clock.read());
  }
}

TEST_CASE("log clocks: kept by batches and by the mark of an idle log, and a doubt is kept until a batch was written") {
  SimulatedDisk disk;
  VirtualClock clock;
  std::chrono::nanoseconds hold{};
  {
    LogDriver driver(disk, clock, 1);
    REQUIRE(said(driver.open()) == "");
    REQUIRE(said(driver.write(3)) == "");
    for (int minute = 0; minute < 25 * 60; ++minute) {  // idle for 25 h: not down
      clock.advance(1min);
      REQUIRE(said(driver.tick()) == "");
    }
    hold = driver.log->clocks().hold(clock.read());
  }
  disk.kill_process();
  clock.reboot(10s);
  {
    LogDriver driver(disk, clock, 2);
    REQUIRE(said(driver.open()) == "");
    CHECK_FALSE(driver.log->clocks().returns_held());
    CHECK(driver.log->clocks().hold(clock.read()) == hold + 10s);
  }
  disk.kill_process();
  clock.reboot(25h);
  for (int start = 0; start < 2; ++start) {
    LogDriver driver(disk, clock, 3);
    REQUIRE(said(driver.open()) == "");
    CHECK(driver.log->clocks().returns_held());
    CHECK(driver.log->status().has(LogAlarm::downtime));
    if (start == 1) REQUIRE(said(driver.write(1)) == "");
    disk.kill_process();
  }
  LogDriver driver(disk, clock, 4);
  REQUIRE(said(driver.open()) == "");
  CHECK_FALSE(driver.log->clocks().returns_held());
}

}  // namespace holdfast::test
