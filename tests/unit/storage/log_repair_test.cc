// Repairs: of every damaged log that is kept, and cut off anywhere.
#include "storage/log_repair.h"

#include "storage/log_walk.h"
#include "storage/recovery_tail.h"
#include "tests/unit/storage/damaged_corpus.h"

#include "tests/doctest.h"

#include <fmt/format.h>

#include <filesystem>

namespace holdfast::test {
namespace {

using simulation::FaultKind;

const std::string kDirectory = "/data/log";
const std::string kOld = kDirectory + "/before-repair-1";

using Contents = std::map<std::string, std::vector<std::byte>>;

Contents contents_of(const SimulatedDisk& disk, const std::string& directory) {
  Contents contents;
  for (const std::string& name : disk.names_in(directory)) {
    if (name != "lock") contents[name] = disk.contents(fmt::format("{}/{}", directory, name));
  }
  return contents;
}

/// Three starts, three batches each.
struct SmallLog {
  SimulatedDisk disk;
  VirtualClock clock;
  Lines lines;

  SmallLog() {
    for (std::uint64_t life = 1; life <= 3; ++life) {
      LogDriver driver(disk, clock, life);
      driver.tells_true_state = true;
      REQUIRE(said(driver.open()) == "");
      for (int batch = 0; batch < 3; ++batch) REQUIRE(said(driver.write(2)) == "");
      lines = driver.lines;
      disk.kill_process();
    }
  }
};

struct Repaired {
  RepairReport report;
  RepairDone done;
};

/// A repair from its beginning to its end, as a tool does it.
Result<Repaired> repair(SimulatedDisk& disk, VirtualClock clock = {}) {
  SeededRandom random(77);
  LogRepair repair(disk, clock, random, kDirectory);
  auto report = repair.examine();
  if (!report) return report.error();
  Repaired repaired{*report, {}};
  if (report->usable) return repaired;
  auto done = repair.carry_out();
  if (!done) return done.error();
  repaired.done = *done;
  return repaired;
}

std::string usable(SimulatedDisk& disk) {
  VirtualClock clock;
  SeededRandom random(1);
  const auto verdict = verify_log(disk, clock, random, kDirectory);
  if (!verdict) return said(verdict);
  return verdict->usable ? "" : verdict->refusal;
}

Lines lines_of(SimulatedDisk& disk) {
  VirtualClock clock;
  LogDriver driver(disk, clock, 50);
  REQUIRE(said(driver.recover()) == "");
  return driver.lines;
}

struct Output {
  std::vector<std::string> lines;
  LineSink sink = [this](std::string_view line) { lines.emplace_back(line); };
};

}  // namespace

TEST_CASE("repair: each damaged log says what it would lose, and is a sound one afterwards, beside what it was") {
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> kept_and_known;
  for (const auto& folder : std::filesystem::directory_iterator(HOLDFAST_DAMAGED_DIRECTORY)) {
    const std::string name = folder.path().filename().string();
    CAPTURE(name);
    SimulatedDisk disk;
    load_damaged(folder.path().string(), disk);
    const Contents before = contents_of(disk, kDirectory);
    {
      VirtualClock clock;
      SeededRandom random(1);
      LogRepair looked(disk, clock, random, kDirectory);
      const auto report = looked.examine();
      REQUIRE(said(report) == "");
      CHECK_FALSE(report->usable);  // their records are random: no state of any server
      CHECK(report->lost == report->known.value() - report->kept.value());
      kept_and_known[name] = {report->kept.value(), report->known.value()};
      Output out;
      REQUIRE(said(looked.list_lost(true, out.sink)) == "");
      CHECK(contents_of(disk, kDirectory) == before);
    }
    const auto repaired = repair(disk);
    REQUIRE(said(repaired) == "");
    CHECK(repaired->done.fork.last == repaired->report.kept);
    CHECK(usable(disk) == "");
    const Lines lines = lines_of(disk);
    CHECK((lines.empty() ? Lsn() : lines.rbegin()->first) == repaired->report.kept);
    Contents old = contents_of(disk, kOld);
    CHECK(old == before);
    CHECK(repair(disk)->report.usable);
  }
  using Row = std::pair<std::uint64_t, std::uint64_t>;
  CHECK(kept_and_known.size() == kRecoveryRows - 1);
  for (const char* whole : {"bad_header", "clean_end", "torn", "unused_segment", "zero_tail"}) {
    CAPTURE(whole);
    CHECK(kept_and_known[whole] == Row{28, 28});
  }
  CHECK(kept_and_known["below_floor"] == Row{19, 28});
  CHECK(kept_and_known["later_batch"].first == 22);
  CHECK(kept_and_known["mid_log"].first == 0);
  CHECK(kept_and_known["missing_file"].first == 10);
}

TEST_CASE("repair: the records of sound batches behind the damage are listed, the others named as ranges") {
  SmallLog log;
  log.disk.file(segment_path(kDirectory, 2)).flip_bit(2 * kBlockBytes + 140, 1);
  SeededRandom random(1);
  LogRepair looked(log.disk, log.clock, random, kDirectory);
  const auto report = looked.examine();
  REQUIRE(said(report) == "");
  CHECK(report->refusal.starts_with("mid_log: "));
  CHECK(report->known == log.lines.rbegin()->first);
  REQUIRE(report->unreadable.size() == 1);
  const LsnRange range = report->unreadable.front();
  CHECK(range.first == report->kept.next());
  Output out;
  REQUIRE(said(looked.list_lost(true, out.sink)) == "");
  const auto behind = std::distance(log.lines.upper_bound(range.second), log.lines.end());
  CHECK(out.lines.size() == static_cast<std::size_t>(behind));
  CHECK(out.lines.front().find(fmt::format("{{\"lsn\":{},", log.lines.upper_bound(range.second)->first.value())) == 0);
}

TEST_CASE("repair: a sound log is left as it is, a running server's and a missing one refused") {
  SmallLog log;
  const Contents before = contents_of(log.disk, kDirectory);
  const auto repaired = repair(log.disk);
  REQUIRE(said(repaired) == "");
  CHECK(repaired->report.usable);
  CHECK(contents_of(log.disk, kDirectory) == before);
  LogDriver driver(log.disk, log.clock, 5);
  REQUIRE(said(driver.open()) == "");
  CHECK(repair(log.disk).error().code() == ErrorCode::locked);
  SimulatedDisk empty;
  CHECK(repair(empty).error().code() == ErrorCode::not_found);
}

TEST_CASE("repair: swapped, doubled and renamed files lose nothing that is still there") {
  SmallLog log;
  const std::string path = segment_path(kDirectory, 1);
  SUBCASE("two segments have each other's name") {
    REQUIRE(said(log.disk.rename(segment_path(kDirectory, 2), kDirectory + "/x.tmp")) == "");
    REQUIRE(said(log.disk.rename(segment_path(kDirectory, 3), segment_path(kDirectory, 2))) == "");
    REQUIRE(said(log.disk.rename(kDirectory + "/x.tmp", segment_path(kDirectory, 3))) == "");
  }
  SUBCASE("the first segment's header is zero") {
    const std::array<std::byte, kBlockBytes> zeros{};
    log.disk.file(path).overwrite_behind(0, zeros);
  }
  SUBCASE("the numbers have a gap") {
    REQUIRE(said(log.disk.rename(segment_path(kDirectory, 3), segment_path(kDirectory, 9))) == "");
  }
  const auto repaired = repair(log.disk);
  REQUIRE(said(repaired) == "");
  CHECK_FALSE(repaired->report.usable);
  CHECK(repaired->report.lost == 0);
  CHECK(lines_of(log.disk) == log.lines);
}

TEST_CASE("repair: nothing is given up for a device that cannot read") {
  SmallLog log;
  const Contents before = contents_of(log.disk, kDirectory);
  log.disk.plan({.kind = FaultKind::fail,
                 .call = simulation::IoCall::read,
                 .path_part = "segment-0000000003",
                 .nth = 2,
                 .sticky = true});
  SeededRandom random(1);
  const auto verdict = verify_log(log.disk, log.clock, random, kDirectory);
  REQUIRE(said(verdict) == "");
  CHECK(verdict->refusal.starts_with("read_failed: "));
  CHECK(verdict->no_repair.find("ddrescue") != std::string::npos);
  const auto repaired = repair(log.disk);
  CHECK(said(repaired).find("segment-0000000003 at offset ") != std::string::npos);
  CHECK(said(repaired).find("ddrescue") != std::string::npos);
  log.disk.clear_faults();
  CHECK(contents_of(log.disk, kDirectory) == before);
}

TEST_CASE("repair: no space for the new log is said before anything is done") {
  SmallLog log;
  log.disk.file(segment_path(kDirectory, 2)).flip_bit(2 * kBlockBytes + 140, 1);
  log.disk.set_capacity_bytes(log.disk.used_bytes() + 1000);
  const Contents before = contents_of(log.disk, kDirectory);
  CHECK(repair(log.disk).error().code() == ErrorCode::no_space);
  CHECK(contents_of(log.disk, kDirectory) == before);
}

namespace {

/// Damaged in the middle, with more than one segment before that.
SmallLog damaged_in_the_third() {
  SmallLog log;
  log.disk.file(segment_path(kDirectory, 3)).flip_bit(2 * kBlockBytes + 140, 1);
  return log;
}

/// A server that starts from this disk refuses, or finds what the repair keeps.
bool refuses_or_finds(const SimulatedDisk& disk, const Lines& kept) {
  SimulatedDisk copy(disk);
  VirtualClock clock;
  LogDriver driver(copy, clock, 60);
  if (!driver.recover()) return true;
  return driver.lines == kept && !driver.recovered.created;
}

}  // namespace

TEST_CASE("repair: cut off at every call, and again at every call, a server never starts from a part of it") {
  const SmallLog log = damaged_in_the_third();
  SimulatedDisk whole(log.disk);
  const auto before = whole.counters().calls();
  REQUIRE(said(repair(whole)) == "");
  const auto calls = whole.counters().calls() - before;
  const Lines kept = lines_of(whole);
  REQUIRE(kept.size() > 10);
  const auto cut_off = [](SimulatedDisk& disk, std::uint64_t call) {
    disk.crash_at(call);
    try {
      static_cast<void>(repair(disk));
    } catch (const simulation::SimulatedCrash&) {
    }
    disk.clear_faults();
  };
  for (std::uint64_t first = 1; first <= calls; first += kThinning) {
    SimulatedDisk once(log.disk);
    cut_off(once, first);
    once.crash(first);
    CAPTURE(first);
    REQUIRE(refuses_or_finds(once, kept));
    for (std::uint64_t second = 1; second <= calls; second += 1 + first % 7) {
      CAPTURE(second);
      SimulatedDisk twice(once);
      cut_off(twice, second);
      if (second % 2 == 0) {
        twice.kill_process();
      } else {
        twice.crash(first * 1000 + second);
      }
      REQUIRE(refuses_or_finds(twice, kept));
      REQUIRE(said(repair(twice)) == "");
      REQUIRE(usable(twice) == "");
      REQUIRE(lines_of(twice) == kept);
      REQUIRE(contents_of(twice, kOld).size() == 4);
    }
  }
}

TEST_CASE("repair: any call may fail; it says so, and the next one completes it") {
  const SmallLog log = damaged_in_the_third();
  SimulatedDisk whole(log.disk);
  const auto before = whole.counters().calls();
  REQUIRE(said(repair(whole)) == "");
  const auto calls = whole.counters().calls() - before;
  const Lines kept = lines_of(whole);
  std::uint64_t failures = 0;
  for (std::uint64_t nth = 1; nth <= calls; ++nth) {
    CAPTURE(nth);
    SimulatedDisk disk(log.disk);
    disk.plan({.kind = FaultKind::fail, .call = {}, .path_part = {}, .nth = nth});
    const auto failed = repair(disk);
    disk.clear_faults();
    failures += failed ? 0U : 1U;
    REQUIRE(refuses_or_finds(disk, kept));
    REQUIRE(said(repair(disk)) == "");
    REQUIRE(lines_of(disk) == kept);
  }
  CHECK(failures > calls / 3);
}

}  // namespace holdfast::test
