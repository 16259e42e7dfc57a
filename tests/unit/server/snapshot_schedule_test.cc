#include "server/snapshot_schedule.h"

#include "tests/doctest.h"

using namespace holdfast;
using std::chrono::seconds;

namespace {

constexpr SnapshotSchedule::Limits kLimits{1000, Millis(60'000)};

SnapshotSchedule::Moment at(std::int64_t second, std::uint64_t lsn, std::uint64_t bytes) {
  return {seconds(second), Lsn(lsn), bytes};
}

}  // namespace

TEST_CASE("snapshot schedule: the log's growth since the last one counts, also before this process") {
  SnapshotSchedule schedule(kLimits, Lsn(5), 400, seconds(0));
  CHECK_FALSE(schedule.due(at(1, 10, 599)));
  CHECK(schedule.due(at(1, 10, 600)));
  schedule.made(at(1, 10, 600), Lsn(10));
  CHECK_FALSE(schedule.due(at(2, 20, 1599)));
  CHECK(schedule.due(at(2, 20, 1600)));
}

TEST_CASE("snapshot schedule: it falls behind when the log is three times as long as it should be") {
  SnapshotSchedule schedule(kLimits, Lsn(5), 400, seconds(0));
  CHECK_FALSE(schedule.behind(at(1, 10, 2599)));
  CHECK(schedule.behind(at(1, 10, 2600)));
  schedule.made(at(1, 10, 2600), Lsn(10));
  CHECK_FALSE(schedule.behind(at(2, 20, 5599)));
  CHECK(schedule.behind(at(2, 20, 5600)));
}

TEST_CASE("snapshot schedule: an old one is replaced when something has changed since") {
  SnapshotSchedule schedule(kLimits, Lsn(5), 0, seconds(10));
  CHECK_FALSE(schedule.due(at(1000, 5, 0)));
  CHECK_FALSE(schedule.due(at(69, 6, 10)));
  CHECK(schedule.due(at(70, 6, 10)));
}

TEST_CASE("snapshot schedule: when the older one keeps too much, the newest is to become the older") {
  SnapshotSchedule schedule(kLimits, Lsn(5), 0, seconds(0));
  SnapshotSchedule::Moment pressed = at(1, 5, 0);
  pressed.pressed = true;
  CHECK_FALSE(schedule.due(pressed));
  pressed.durable = Lsn(6);
  CHECK(schedule.due(pressed));
  schedule.failed(pressed.boot);
  CHECK_FALSE(schedule.due(pressed));
}

TEST_CASE("snapshot schedule: who asks gets one, unless nothing has changed") {
  SnapshotSchedule schedule(kLimits, Lsn(5), 0, seconds(0));
  schedule.ask();
  CHECK(schedule.settled(at(1, 5, 0)));
  CHECK_FALSE(schedule.due(at(1, 5, 0)));
  schedule.forget();
  CHECK_FALSE(schedule.due(at(1, 6, 1)));
  schedule.ask();
  CHECK(schedule.due(at(1, 6, 1)));
  schedule.made(at(1, 6, 1), Lsn(6));
  CHECK(schedule.last() == Lsn(6));
  CHECK_FALSE(schedule.due(at(2, 7, 2)));
}

TEST_CASE("snapshot schedule: after a failure it waits 1 s, then twice as long each time, up to 30 s") {
  SnapshotSchedule schedule(kLimits, Lsn(5), 0, seconds(0));
  schedule.ask();
  std::int64_t now = 0;
  for (const std::int64_t wait : {1, 2, 4, 8, 16, 30, 30}) {
    schedule.failed(seconds(now));
    CHECK_FALSE(schedule.due(at(now + wait - 1, 9, 1)));
    now += wait;
    CHECK(schedule.due(at(now, 9, 1)));
  }
}
