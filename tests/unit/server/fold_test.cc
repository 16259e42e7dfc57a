// Snapshots folded from a log on the simulated disk, by the code that the server runs, at any LSN and with the power
// going at any call: a start from snapshot and rest of the log comes to what one from the log alone comes to.
//
// HOLDFAST_SEED=n first seed; HOLDFAST_ROUNDS=n histories.
#include "server/fold.h"
#include "storage/log_cleaner.h"
#include "tests/random_runs.h"
#include "tests/unit/server/fold_world.h"

#include <fmt/format.h>

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::simulation;
using namespace holdfast::testing;

namespace {

constexpr std::uint64_t kRounds = test::rounds_here(50);
constexpr std::uint64_t kCommands = 150;

/// A start now would come to the same with this snapshot as the newest one as without any.
void check_snapshot(const SimulatedDisk& disk, Lsn snapshot) {
  SimulatedDisk copy(disk);
  copy.kill_process();
  for (const Lsn other : snapshots_of(copy)) {
    if (other > snapshot) REQUIRE(copy.remove(snapshot_path(kLogDirectory, other)).has_value());
  }
  check_same(copy, snapshot);
}

/// Snapshots at random durable LSNs while the log grows, over several lives.
void run_history(std::uint64_t seed, std::uint64_t& folds) {
  SimulatedDisk disk;
  VirtualClock clock;
  for (std::uint64_t life = 0; life < 3; ++life) {
    LogWriter writer(disk, clock, seed * 10 + life, hold_time(static_cast<std::int64_t>(1 + life) * 1'000'000));
    REQUIRE(said(writer.open()) == "");
    for (std::uint64_t i = 0; i < kCommands; ++i) {
      REQUIRE(said(writer.run()) == "");
      if (writer.below(20) != 0 || writer.durable() == Lsn()) continue;
      const auto folded = fold_log(disk, kLogDirectory, Lsn(1 + writer.below(writer.durable().value())));
      REQUIRE(said(folded) == "");
      if (folded->lsn == Lsn()) continue;
      check_snapshot(disk, folded->lsn);
      ++folds;
    }
    disk.kill_process();
  }
}

}  // namespace

TEST_CASE("fold: snapshot and rest of the log come to what the log alone comes to, for 1 to 4 shards") {
  const std::uint64_t first = test::number_from_environment("HOLDFAST_SEED", 1);
  const std::uint64_t rounds = test::number_from_environment("HOLDFAST_ROUNDS", kRounds);
  std::uint64_t folds = 0;
  for (std::uint64_t seed = first; seed < first + rounds; ++seed) {
    const std::string again = fmt::format("HOLDFAST_SEED={} HOLDFAST_ROUNDS=1 fold_test -tc='fold: snapshot*'", seed);
    CAPTURE(again);
    run_history(seed, folds);
  }
  MESSAGE(folds << " snapshots in " << rounds << " histories");
}

TEST_CASE("fold: the power may go at any call, twice in a row, and nothing is lost") {
  Lsn durable;
  const SimulatedDisk log = small_log(durable);
  const Lsn middle(durable.value() / 2);
  SimulatedDisk counted(log);
  const std::uint64_t before = counted.counters().calls();
  REQUIRE(said(fold_log(counted, kLogDirectory, middle)) == "");
  const std::uint64_t calls = counted.counters().calls() - before;
  REQUIRE(calls > 10);
  std::uint64_t published = 0;
  for (std::uint64_t call = 1; call <= calls + 1; ++call) {
    for (std::uint64_t fate = 1; fate <= 3; ++fate) {
      CAPTURE(call);
      CAPTURE(fate);
      SimulatedDisk disk(log);
      for (int twice = 0; twice < 2; ++twice) {
        disk.crash_at(call);
        try {
          static_cast<void>(fold_log(disk, kLogDirectory, middle));
        } catch (const SimulatedCrash&) {
        }
        disk.clear_faults();
        disk.crash(fate + static_cast<std::uint64_t>(twice));
        const auto snapshots = snapshots_of(disk);
        published += snapshots.size();
        check_same(disk, snapshots.empty() ? Lsn() : snapshots.back());
      }
      REQUIRE(said(fold_log(disk, kLogDirectory, durable)) == "");
      check_same(disk, snapshots_of(disk).back());
    }
  }
  CHECK(published > 0);
}

TEST_CASE("fold: each call that fails ends it with an error or was not needed, and the log is as it was") {
  Lsn durable;
  const SimulatedDisk log = small_log(durable);
  for (const IoCall call : {IoCall::open, IoCall::create, IoCall::read, IoCall::write, IoCall::sync, IoCall::size,
                            IoCall::rename, IoCall::list, IoCall::exists, IoCall::sync_directory}) {
    CAPTURE(io_call_name(call));
    int failed = 0;
    for (std::uint64_t nth = 1;; ++nth) {
      CAPTURE(nth);
      SimulatedDisk disk(log);
      const auto fault = disk.plan({.kind = FaultKind::fail, .call = call, .path_part = {}, .nth = nth});
      const auto folded = fold_log(disk, kLogDirectory, durable);
      const bool hit = disk.counters().hits(fault) > 0;
      if (folded) REQUIRE(folded->lsn == durable);
      failed += folded ? 0 : 1;
      disk.clear_faults();
      const auto snapshots = snapshots_of(disk);
      check_same(disk, snapshots.empty() ? Lsn() : snapshots.back());
      REQUIRE(said(fold_log(disk, kLogDirectory, durable)) == "");
      if (!hit) break;
    }
    CHECK(failed > 0);
  }
}

TEST_CASE("fold: each bit of a snapshot flipped, and each length cut off, is found, and the older one is used") {
  Lsn durable;
  SimulatedDisk log = small_log(durable);
  REQUIRE(said(fold_log(log, kLogDirectory, Lsn(durable.value() / 2))) == "");
  REQUIRE(said(fold_log(log, kLogDirectory, durable)) == "");
  const auto snapshots = snapshots_of(log);
  REQUIRE(snapshots.size() == 2);
  const std::string path = snapshot_path(kLogDirectory, snapshots[1]);
  const auto size = log.contents(path).size();
  const auto check = [&](SimulatedDisk& disk) {
    const Started started = start(disk, 2);
    if (!started.refusal.empty()) {
      REQUIRE(started.refusal.starts_with("foreign_file"));  // the secret's bytes, which no sum covers
      return;
    }
    REQUIRE(started.from == snapshots[0]);
    REQUIRE(started.last == durable);
    REQUIRE(started.notices.size() == 1);
  };
  for (std::size_t at = 0; at < size; at += at < 200 ? 1 : 97) {
    CAPTURE(at);
    SimulatedDisk disk(log);
    disk.file(path).flip_bit(at, at % 8);
    check(disk);
    SimulatedDisk cut(log);
    cut.file(path).truncate_behind(at);
    check(cut);
  }
}

namespace {

/// What the server's thread does after a snapshot.
Result<void> clean(SimulatedDisk& disk) {
  LogCleaner cleaner(disk, kLogDirectory);
  HOLDFAST_TRY(cleaner.look());
  HOLDFAST_TRY(cleaner.remove_leftovers());
  HOLDFAST_TRY(cleaner.remove_snapshots(Lsn()));
  const auto removed = cleaner.remove_segments(cleaner.covered());
  return removed ? Result<void>() : removed.error();
}

}  // namespace

TEST_CASE("fold: the power may go at any call while old files are removed, twice in a row") {
  Lsn durable;
  SimulatedDisk log = small_log(durable);
  const auto whole = start(log, 1);
  for (const std::uint64_t part : {2U, 5U, 8U}) {
    REQUIRE(said(fold_log(log, kLogDirectory, Lsn(durable.value() * part / 8))) == "");
  }
  log.crash(3);
  SimulatedDisk counted(log);
  const std::uint64_t before = counted.counters().calls();
  REQUIRE(said(clean(counted)) == "");
  const std::uint64_t calls = counted.counters().calls() - before;
  const auto left = look_at_directory(counted, kLogDirectory).value();
  REQUIRE(left.snapshots.size() == 2);
  REQUIRE(left.segments.front() > 1);
  for (std::uint64_t call = 1; call <= calls + 1; ++call) {
    for (std::uint64_t fate = 1; fate <= 6; ++fate) {
      CAPTURE(call);
      CAPTURE(fate);
      SimulatedDisk disk(log);
      for (int twice = 0; twice < 2; ++twice) {
        disk.crash_at(call);
        try {
          static_cast<void>(clean(disk));
        } catch (const SimulatedCrash&) {
        }
        disk.clear_faults();
        disk.crash(fate + static_cast<std::uint64_t>(twice));
        SimulatedDisk copy(disk);
        const Started started = start(copy, 2);
        REQUIRE(started.refusal == "");
        REQUIRE(started.last == whole.last);
        REQUIRE(started.items == whole.items);
      }
    }
  }
}

TEST_CASE("fold: nothing of a log goes before two snapshots have it, and what somebody holds stays") {
  Lsn durable;
  SimulatedDisk log = small_log(durable);
  const auto segments = [&] { return look_at_directory(log, kLogDirectory).value().segments; };
  const auto all = segments();
  REQUIRE(all.size() > 2);
  REQUIRE(said(fold_log(log, kLogDirectory, durable)) == "");
  REQUIRE(said(clean(log)) == "");
  CHECK(segments() == all);
  REQUIRE(said(fold_log(log, kLogDirectory, Lsn(durable.value() - 1))) == "");
  LogCleaner cleaner(log, kLogDirectory);
  REQUIRE(said(cleaner.look()) == "");
  CHECK(cleaner.covered() < durable);
  const Lsn second_ends = cleaner.segments().at(1).last;
  CHECK(cleaner.remove_segments(Lsn(second_ends.value() - 1)).value() == 1);
  CHECK(cleaner.remove_segments(Lsn(second_ends.value() - 1)).value() == 0);
  CHECK(cleaner.remove_segments(durable).value() > 0);
  CHECK(start(log, 1).last == durable);
}
