#include "tests/unit/storage/log_fixture.h"

#include "storage/snapshot_writer.h"

#include "tests/doctest.h"

namespace holdfast::test {

TEST_CASE("log: what was committed is found after a restart, over several segments") {
  SimulatedDisk disk;
  VirtualClock clock;
  Lines expected;
  for (int life = 0; life < 4; ++life) {
    LogDriver driver(disk, clock, static_cast<std::uint64_t>(life) + 1);
    REQUIRE(said(driver.open()) == "");
    CHECK(driver.lines == expected);
    CHECK(driver.recovered.created == (life == 0));
    CHECK(driver.log->incarnation() == static_cast<std::uint64_t>(life) + 1);
    for (int batch = 0; batch < 30; ++batch) {
      REQUIRE(said(driver.write(8)) == "");
      REQUIRE(said(driver.tick()) == "");
    }
    CHECK(driver.log->durable_lsn() == driver.log->written_lsn());
    expected = driver.lines;
  }
  CHECK(disk.names_in("/data/log").size() > 6);
}

TEST_CASE("log: a missing or empty directory becomes a new log with a warning, or is refused with --require-data") {
  SimulatedDisk disk;
  VirtualClock clock;
  for (const bool exists : {false, true}) {
    if (exists) REQUIRE(said(disk.make_directory("/data/log")) == "");
    LogDriver strict(disk, clock, 1);
    strict.settings.require_data = true;
    CHECK(said(strict.recover()).find("--require-data") != std::string::npos);
    CHECK(disk.names_in("/data/log").empty());
  }
  LogDriver driver(disk, clock, 1);
  REQUIRE(said(driver.open()) == "");
  CHECK(driver.recovered.created);
  CHECK(driver.notices.size() == 1);
  CHECK(driver.log->status().durable_lsn == 0);
  disk.kill_process();
  LogDriver again(disk, clock, 2);
  again.settings.require_data = true;
  REQUIRE(said(again.open()) == "");
  CHECK(again.log->identity().id == driver.log->identity().id);
  CHECK(again.log->identity().secret == driver.log->identity().secret);
}

TEST_CASE("log: a directory with something else in it is refused and left alone") {
  SimulatedDisk disk;
  VirtualClock clock;
  REQUIRE(said(disk.make_directory("/data/log")) == "");
  REQUIRE(said(disk.open("/data/log/PG_VERSION", OpenMode::create)) == "");
  LogDriver driver(disk, clock, 1);
  CHECK(said(driver.recover()).starts_with("foreign_file:"));
  CHECK(disk.names_in("/data/log") == std::vector<std::string>{"PG_VERSION"});
}

TEST_CASE("log: an option out of range is refused") {
  SimulatedDisk disk;
  VirtualClock clock;
  for (const std::uint64_t bytes :
       {std::uint64_t{0}, kSegmentBytesMin - kBlockBytes, kSegmentBytesMin + 1, kSegmentBytesMax + kBlockBytes}) {
    LogDriver driver(disk, clock, 1);
    driver.settings.segment_bytes = bytes;
    const auto refused = driver.recover();
    REQUIRE(refused.has_error());
    CHECK(refused.error().code() == ErrorCode::bad_option);
  }
}

TEST_CASE("log: a batch longer than a segment gets a segment of its own length") {
  SimulatedDisk disk;
  VirtualClock clock;
  LogDriver driver(disk, clock, 1);
  REQUIRE(said(driver.open()) == "");
  for (int batch = 0; batch < 4; ++batch) {
    const auto done = driver.write(batch == 2 ? 1500 : 5);
    REQUIRE(said(done) == "");
    CHECK(*done);
    REQUIRE(said(driver.tick()) == "");
  }
  CHECK(disk.contents("/data/log/segment-0000000002").size() > 100'000);
  disk.crash(1);
  LogDriver again(disk, clock, 2);
  REQUIRE(said(again.open()) == "");
  CHECK(again.lines == driver.lines);
}

/// Whatever the state: no name, no item.
Result<void> write_snapshot(LogDriver& driver, SimulatedDisk& disk, Lsn lsn) {
  SnapshotHeader header;
  header.log = driver.log->identity();
  header.lsn = lsn;
  header.incarnation = 1;
  auto writer = SnapshotWriter::begin(disk, "/data/log", header);
  if (!writer) return writer.error();
  HOLDFAST_TRY((*writer)->on_log({}));
  return (*writer)->publish();
}

TEST_CASE("log: records up to the snapshot are not replayed, and segments before it may be gone") {
  SimulatedDisk disk;
  VirtualClock clock;
  LogDriver driver(disk, clock, 1);
  REQUIRE(said(driver.open()) == "");
  for (int batch = 0; batch < 60; ++batch) {
    REQUIRE(said(driver.write(8)) == "");
    REQUIRE(said(driver.tick()) == "");
  }
  REQUIRE(driver.log->status().segment >= 3);
  const Lsn snapshot(driver.log->written_lsn().value() - 20);
  disk.kill_process();
  REQUIRE(said(disk.remove("/data/log/segment-0000000001")) == "");
  {
    LogDriver without(disk, clock, 2);
    CHECK(said(without.recover()).starts_with("missing_file:"));
  }
  REQUIRE(said(write_snapshot(driver, disk, snapshot)) == "");
  LogDriver again(disk, clock, 2);
  REQUIRE(said(again.open()) == "");
  CHECK(again.lines == Lines(driver.lines.upper_bound(snapshot), driver.lines.end()));
  CHECK(again.recovered.records == again.lines.size());
  disk.kill_process();
  LogDriver ahead(disk, clock, 3);
  ahead.settings.floor = Lsn(driver.log->written_lsn().value() + 1);  // a sink has seen more than there is
  CHECK(said(ahead.recover()).starts_with("below_floor:"));
}

TEST_CASE("log: everysec and never are written at once and durable later") {
  for (const auto fsync : {FsyncPolicy::everysec, FsyncPolicy::never}) {
    SimulatedDisk disk;
    VirtualClock clock;
    LogDriver driver(disk, clock, 1, fsync);
    REQUIRE(said(driver.open()) == "");
    REQUIRE(said(driver.write(3)) == "");
    REQUIRE(said(driver.tick()) == "");
    CHECK(driver.log->written_lsn() > Lsn());
    CHECK(driver.log->durable_lsn() == Lsn());
    clock.advance(fsync == FsyncPolicy::everysec ? kFlushEvery : kMarkEvery);
    CHECK(driver.log->due() <= clock.read().boot);
    REQUIRE(said(driver.tick()) == "");
    CHECK(driver.log->durable_lsn() == driver.log->written_lsn());
    REQUIRE(said(driver.write(3)) == "");
    CHECK(driver.log->durable_lsn() < driver.log->written_lsn());
    REQUIRE(said(driver.log->close()) == "");
    CHECK(driver.log->durable_lsn() == driver.log->written_lsn());
    CHECK(Lsn(driver.log->status().durable_lsn) == driver.log->durable_lsn());
  }
}

}  // namespace holdfast::test
