// Failing calls: of the live segment (the process must end, nothing acknowledged is lost) and of everything else (alarm,
// retry, back-off, nothing lost).
#include "tests/unit/storage/log_fixture.h"

#include "tests/doctest.h"

#include <fmt/format.h>

namespace holdfast::test {
namespace {

using simulation::FaultKind;
using simulation::FlushFailure;
using simulation::IoCall;

constexpr int kBatches = 30;
constexpr std::size_t kRecords = 12;

/// Calls of this kind that a run makes after its start.
struct Site {
  IoCall call;
  std::string path_part;
};

/// Writes batches with virtual time passing until all are written, the live segment fails or too much time has passed.
/// Empty when all were written.
std::string run(LogDriver& driver, VirtualClock& clock) {
  int written = 0;
  for (int turn = 0; written < kBatches; ++turn) {
    if (turn > 50 * kBatches) return "it never got room";
    const auto done = driver.write(kRecords);
    if (!done) return said(done);
    if (*done) ++written;
    clock.advance(std::chrono::milliseconds(400));
    if (const auto ticked = driver.tick(); !ticked) return said(ticked);
  }
  return {};
}

/// A later start finds all that was acknowledged and nothing else but, perhaps, the batch in flight.
void check_next_start(SimulatedDisk& disk, VirtualClock& clock, const LogDriver& before) {
  LogDriver driver(disk, clock, 1000);
  REQUIRE(said(driver.open()) == "");
  CHECK(extends(driver.lines, before.lines, before.in_flight));
  CHECK((driver.lines.size() == before.lines.size() ||
         driver.lines.size() == before.lines.size() + before.in_flight.size()));
  REQUIRE(said(driver.write(3)) == "");
}

std::uint64_t alarms_raised(const LogDriver& driver) {
  std::uint64_t count = 0;
  for (const auto& alarm : driver.log->status().alarm_count) count += alarm;
  return count;
}

}  // namespace

TEST_CASE("faults: the n-th write of the live segment fails, for every n and every behaviour of the page cache") {
  std::uint64_t failures = 0;
  for (const auto behaviour : {FlushFailure::keeps_new, FlushFailure::reverts_to_old, FlushFailure::mixed}) {
    for (std::uint64_t nth = 1;; ++nth) {
      CAPTURE(nth);
      SimulatedDisk disk(nth);
      VirtualClock clock;
      disk.set_flush_failure(behaviour);
      LogDriver driver(disk, clock, nth);
      REQUIRE(said(driver.open()) == "");
      disk.plan({.kind = FaultKind::fail, .call = IoCall::write_durable, .path_part = {}, .nth = nth});
      const auto failure = run(driver, clock);
      if (failure.empty()) break;
      ++failures;
      CHECK(failure.find("write") != std::string::npos);
      disk.clear_faults();
      disk.kill_process();
      check_next_start(disk, clock, driver);
      disk.crash(nth);
      LogDriver last(disk, clock, 2000);
      CHECK(said(last.open()) == "");
    }
  }
  MESSAGE(failures << " failed writes");
  CHECK(failures > 3 * kBatches);
}

TEST_CASE("faults: the n-th call that is not of the live segment fails: an alarm, a retry, nothing lost") {
  const std::vector<Site> sites = {
      {IoCall::create, "segment"}, {IoCall::write, "segment"},  {IoCall::sync, "segment"},
      {IoCall::rename, "segment"}, {IoCall::exists, "segment"}, {IoCall::sync_directory, ""},
      {IoCall::open, "segment"},   {IoCall::size, "segment"},   {IoCall::identity, "segment"},
      {IoCall::free_bytes, ""},    {IoCall::write, "mark"},
  };
  for (const auto& site : sites) {
    std::uint64_t hits = 0;
    for (std::uint64_t nth = 1;; ++nth) {
      CAPTURE(simulation::io_call_name(site.call));
      CAPTURE(site.path_part);
      CAPTURE(nth);
      SimulatedDisk disk(nth);
      VirtualClock clock;
      LogDriver driver(disk, clock, nth);
      REQUIRE(said(driver.open()) == "");
      const auto fault = disk.plan({.kind = FaultKind::fail,
                                    .call = site.call,
                                    .path_part = site.path_part,
                                    .nth = nth,
                                    .sticky = false,
                                    .error = ErrorCode::no_space});
      REQUIRE(run(driver, clock) == "");
      if (disk.counters().hits(fault) == 0) break;
      ++hits;
      CHECK(alarms_raised(driver) == 1);
      clock.advance(std::chrono::seconds(40));
      REQUIRE(said(driver.tick()) == "");
      REQUIRE(said(driver.write(1)) == "");
      CHECK(driver.log->status().alarms == 0);
      CHECK(driver.notices.size() >= 2);
      disk.clear_faults();
      disk.crash(nth);
      clock.reboot(std::chrono::seconds(1));
      check_next_start(disk, clock, driver);
    }
    MESSAGE(simulation::io_call_name(site.call) << " " << site.path_part << ": " << hits << " hits");
    CHECK(hits > 0);
  }
}

TEST_CASE(
    "faults: the n-th call of a start fails: the start is refused or goes on, the next one is as if it had not been") {
  SimulatedDisk disk;
  VirtualClock clock;
  Lines lines;
  {
    LogDriver driver(disk, clock, 1);
    REQUIRE(said(driver.open()) == "");
    REQUIRE(run(driver, clock) == "");
    lines = driver.lines;
    disk.kill_process();
  }
  std::map<std::string, std::uint64_t> hits;
  for (std::uint64_t nth = 1;; ++nth) {
    CAPTURE(nth);
    SimulatedDisk copy(disk);
    const auto before = copy.counters().calls_by_site();
    const auto fault = copy.plan({.kind = FaultKind::fail, .call = {}, .path_part = {}, .nth = nth});
    LogDriver driver(copy, clock, 2);
    (void)driver.open();
    if (copy.counters().hits(fault) == 0) break;
    for (const auto& [site, count] : copy.counters().calls_by_site()) {
      const auto old = before.find(site);
      hits[site] = std::max(hits[site], old == before.end() ? count : count - old->second);
    }
    copy.clear_faults();
    copy.kill_process();
    LogDriver again(copy, clock, 3);
    REQUIRE(said(again.open()) == "");
    CHECK(again.lines == lines);
  }
  // Made by the first start of a log only: its directory and its mark.
  for (const auto& [site, count] : hits) {
    MESSAGE(site << ": " << count);
    CHECK((count > 0 || site.find("mark.tmp") != std::string::npos || site == "rename mark" ||
           site == "make_directory log" || site == "sync_directory data"));
  }
  CHECK(hits.size() > 20);
}

TEST_CASE(
    "faults: no room for the next segment: retried with a growing delay, -OVERLOADED meanwhile, over when there is "
    "room") {
  SimulatedDisk disk;
  VirtualClock clock;
  LogDriver driver(disk, clock, 1);
  REQUIRE(said(driver.open()) == "");
  const auto fault = disk.plan({.kind = FaultKind::fail,
                                .call = IoCall::create,
                                .path_part = "segment",
                                .nth = 1,
                                .sticky = true,
                                .error = ErrorCode::no_space});
  REQUIRE(said(driver.tick()) == "");
  CHECK(driver.log->status().has(LogAlarm::next_segment));
  std::vector<std::int64_t> tries;
  for (int tenth = 0; tenth < 900; ++tenth) {
    clock.advance(std::chrono::milliseconds(100));
    const auto hits = disk.counters().hits(fault);
    REQUIRE(said(driver.tick()) == "");
    if (disk.counters().hits(fault) > hits) tries.push_back(tenth + 1);
  }
  CHECK(tries == std::vector<std::int64_t>{10, 30, 70, 150, 310, 610});
  CHECK(driver.log->status().space == SpaceState::ok);
  bool room = true;
  SpaceState seen = SpaceState::ok;
  while (room) {
    const auto done = driver.write(kRecords);
    REQUIRE(said(done) == "");
    room = *done;
    if (room) seen = driver.log->status().space;
  }
  CHECK(seen == SpaceState::no_next_segment);
  CHECK(space_text(seen) != "");
  disk.clear_faults();
  clock.advance(std::chrono::seconds(31));
  REQUIRE(said(driver.tick()) == "");
  const auto done = driver.write(kRecords);
  REQUIRE(said(done) == "");
  CHECK(*done);
  CHECK(driver.log->status().space == SpaceState::ok);
  CHECK(driver.log->status().alarms == 0);
}

TEST_CASE("faults: little free space means -OVERLOADED until it is back") {
  SimulatedDisk disk;
  VirtualClock clock;
  LogDriver driver(disk, clock, 1);
  REQUIRE(said(driver.open()) == "");
  disk.set_capacity_bytes(disk.used_bytes() + 200 * 1024);
  driver.log->set_snapshot_bytes(100 * 1024);
  clock.advance(std::chrono::seconds(6));
  REQUIRE(said(driver.tick()) == "");
  CHECK(driver.log->status().space == SpaceState::low);
  REQUIRE(said(driver.write(1)) == "");
  CHECK(driver.log->status().space == SpaceState::low);
  disk.set_capacity_bytes(~std::uint64_t{0});
  clock.advance(std::chrono::milliseconds(1001));
  REQUIRE(said(driver.tick()) == "");
  CHECK(driver.log->status().space == SpaceState::ok);
}

TEST_CASE("faults: the live file removed or replaced under the server is noticed within seconds") {
  SimulatedDisk disk;
  VirtualClock clock;
  LogDriver driver(disk, clock, 1);
  REQUIRE(said(driver.open()) == "");
  REQUIRE(said(driver.tick()) == "");
  REQUIRE(said(disk.remove("/data/log/segment-0000000001")) == "");
  clock.advance(kIdentityEvery);
  CHECK(said(driver.tick()).find("no longer the file") != std::string::npos);
}

TEST_CASE("faults: a write of a second or more raises the alarm until the next quick one") {
  SimulatedDisk disk;
  VirtualClock clock;
  LogDriver driver(disk, clock, 1);
  REQUIRE(said(driver.open()) == "");
  disk.set_latency(clock, IoCall::write_durable, std::chrono::milliseconds(1500));
  REQUIRE(said(driver.write(1)) == "");
  CHECK(driver.log->status().has(LogAlarm::slow_flush));
  CHECK(driver.log->status().flush_last_ns == 1'500'000'000);
  disk.set_latency(clock, IoCall::write_durable, std::chrono::milliseconds(1));
  REQUIRE(said(driver.write(1)) == "");
  CHECK_FALSE(driver.log->status().has(LogAlarm::slow_flush));
  CHECK(driver.log->status().slow_flushes == 1);
}

}  // namespace holdfast::test
