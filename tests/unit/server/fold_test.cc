// Snapshots folded from a log on the simulated disk, by the code that the server runs, at any LSN and with the power
// going at any call: a start from snapshot and rest of the log comes to what one from the log alone comes to.
//
// HOLDFAST_SEED=n first seed; HOLDFAST_ROUNDS=n histories.
#include "server/fold.h"
#include "server/sharded_replay.h"
#include "storage/log.h"
#include "storage/log_cleaner.h"
#include "storage/log_files.h"
#include "storage/snapshot_reader.h"
#include "tests/random_runs.h"
#include "tests/simulation/simulated_disk.h"
#include "tests/unit/server/random_history.h"
#include "tests/unit/server/sharded_bench.h"
#include "tests/unit/server/snapshot_text.h"

#include <fmt/format.h>

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::simulation;
using namespace holdfast::testing;

namespace {

constexpr std::uint64_t kRounds = test::rounds_here(40);
constexpr std::uint64_t kCommands = 150;
constexpr const char* kDirectory = "/data/log";

template <class T>
std::string said(const Result<T>& result) {
  return result ? std::string() : std::string(result.error().text());
}

LogSettings log_settings() {
  LogSettings settings;
  settings.directory = kDirectory;
  settings.segment_bytes = kSegmentBytesMin;
  return settings;
}

Inventory::Settings inventory_settings() {
  Inventory::Settings settings;
  settings.ended_max = 3;
  settings.ended_retention = Millis(5'000);
  return settings;
}

/// Commands that go through an inventory into a log, a batch each.
class Writer {
 public:
  /// `begin`: where its time begins.
  Writer(SimulatedDisk& disk, VirtualClock& clock, std::uint64_t seed, HoldTime begin)
      : disk_(disk), clock_(clock), random_(seed), dice_(seed), now_{begin, {}, {}} {}

  Result<void> open() {
    auto recovery = LogRecovery::open(disk_, clock_, random_, log_settings());
    if (!recovery) return recovery.error();
    bench_ = std::make_unique<ShardedBench>(std::uint16_t{1}, tape_, inventory_settings());
    ShardedReplay replay(bench_->inventories());
    if (const auto restored = (*recovery)->restore(replay); !restored) return restored.error();
    const auto replayed = (*recovery)->replay(replay.visitor());
    if (!replayed) return replayed.error();
    REQUIRE(replay.finish() == replayed->state);
    auto log = Log::start(std::move(*recovery));
    if (!log) return log.error();
    log_ = std::move(*log);
    return {};
  }

  /// What it writes, if anything, is durable afterwards.
  Result<void> run() {
    now_.hold += Millis(static_cast<std::int64_t>(dice_.below(200)));
    now_.wall = wall_time(to_ms(now_.hold) + 1'800'000'000'000);
    bench_->set_now(now_);
    const std::size_t before = tape_.size();
    if (dice_.chance(1, 4)) bench_->sweep();
    bench_->ask(random_history_line(dice_, version_ += dice_.below(2)));
    if (tape_.size() == before) return {};
    group_.open(GroupOrdinal(++ordinal_));
    tape_.write(before, group_);
    group_.seal(bench_->hash());
    Group* const batch[] = {&group_};
    const auto room = log_->make_room(batch);
    if (!room) return room.error();
    REQUIRE(*room);
    HOLDFAST_TRY(log_->commit(batch, group_.state()));
    return log_->tick();
  }

  Lsn durable() const { return log_->durable_lsn(); }
  std::uint64_t below(std::uint64_t bound) { return dice_.below(bound); }

 private:
  SimulatedDisk& disk_;
  VirtualClock& clock_;
  SeededRandom random_;
  Dice dice_;
  RecordTape tape_;
  std::unique_ptr<ShardedBench> bench_;
  std::unique_ptr<Log> log_;
  Group group_{ShardIndex(0), 16_KiB};
  std::uint64_t ordinal_ = 0;
  std::uint64_t version_ = 1;
  Now now_;
};

struct Started {
  std::string refusal;
  Lsn from;  // the snapshot
  Lsn last;
  std::map<std::string, std::vector<std::string>> items;
  std::vector<std::string> notices;
};

/// What a start with so many shards comes to. Changes nothing.
Started start(SimulatedDisk& disk, std::uint16_t shards) {
  VirtualClock clock;
  SeededRandom random(1);
  Started started;
  LogSettings settings = log_settings();
  settings.notice = [&](std::string_view line) { started.notices.emplace_back(line); };
  auto recovery = LogRecovery::open(disk, clock, random, settings);
  if (!recovery) return started.refusal = said(recovery), started;
  RecordTape tape;
  ShardedBench bench(shards, tape, inventory_settings());
  ShardedReplay replay(bench.inventories());
  const auto restored = (*recovery)->restore(replay);
  if (!restored) return started.refusal = said(restored), started;
  const auto replayed = (*recovery)->replay(replay.visitor());
  if (!replayed) return started.refusal = said(replayed), started;
  REQUIRE(replay.finish() == replayed->state);
  started.from = restored->lsn;
  started.last = replayed->last_lsn;
  started.items = items_as_text(bench.inventories());
  return started;
}

std::vector<Lsn> snapshots_of(SimulatedDisk& disk) { return look_at_directory(disk, kDirectory).value().snapshots; }

/// The same disk with nothing but the log.
SimulatedDisk without_snapshots(const SimulatedDisk& disk) {
  SimulatedDisk bare(disk);
  for (const Lsn lsn : snapshots_of(bare)) REQUIRE(bare.remove(snapshot_path(kDirectory, lsn)).has_value());
  return bare;
}

void check_same(const SimulatedDisk& disk, Lsn from) {
  SimulatedDisk bare = without_snapshots(disk);
  const Started whole = start(bare, 1);
  REQUIRE(whole.refusal == "");
  for (std::uint16_t shards = 1; shards <= 4; ++shards) {
    CAPTURE(shards);
    SimulatedDisk copy(disk);
    const Started started = start(copy, shards);
    REQUIRE(started.refusal == "");
    REQUIRE(started.from == from);
    REQUIRE(started.last == whole.last);
    REQUIRE(started.items == whole.items);
  }
}

/// A start now would come to the same with this snapshot as the newest one as without any.
void check_snapshot(const SimulatedDisk& disk, Lsn snapshot) {
  SimulatedDisk copy(disk);
  copy.kill_process();
  for (const Lsn other : snapshots_of(copy)) {
    if (other > snapshot) REQUIRE(copy.remove(snapshot_path(kDirectory, other)).has_value());
  }
  check_same(copy, snapshot);
}

/// Snapshots at random durable LSNs while the log grows, over several lives.
void run_history(std::uint64_t seed, std::uint64_t& folds) {
  SimulatedDisk disk;
  VirtualClock clock;
  for (std::uint64_t life = 0; life < 3; ++life) {
    Writer writer(disk, clock, seed * 10 + life, hold_time(static_cast<std::int64_t>(1 + life) * 1'000'000));
    REQUIRE(said(writer.open()) == "");
    for (std::uint64_t i = 0; i < kCommands; ++i) {
      REQUIRE(said(writer.run()) == "");
      if (writer.below(20) != 0 || writer.durable() == Lsn()) continue;
      const auto folded = fold_log(disk, kDirectory, Lsn(1 + writer.below(writer.durable().value())));
      REQUIRE(said(folded) == "");
      if (folded->lsn == Lsn()) continue;
      check_snapshot(disk, folded->lsn);
      ++folds;
    }
    disk.kill_process();
  }
}

/// A log of a few hundred records in several segments.
SimulatedDisk small_log(Lsn& durable, std::uint64_t seed = 5) {
  SimulatedDisk disk;
  VirtualClock clock;
  Writer writer(disk, clock, seed, hold_time(1'000'000));
  REQUIRE(said(writer.open()) == "");
  for (int i = 0; i < 120; ++i) REQUIRE(said(writer.run()) == "");
  durable = writer.durable();
  disk.kill_process();
  return disk;
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
  REQUIRE(said(fold_log(counted, kDirectory, middle)) == "");
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
          static_cast<void>(fold_log(disk, kDirectory, middle));
        } catch (const SimulatedCrash&) {
        }
        disk.clear_faults();
        disk.crash(fate + static_cast<std::uint64_t>(twice));
        const auto snapshots = snapshots_of(disk);
        published += snapshots.size();
        check_same(disk, snapshots.empty() ? Lsn() : snapshots.back());
      }
      REQUIRE(said(fold_log(disk, kDirectory, durable)) == "");
      check_same(disk, snapshots_of(disk).back());
    }
  }
  CHECK(published > 0);
}

TEST_CASE("fold: each call that fails ends it with an error, and the log is as it was") {
  Lsn durable;
  const SimulatedDisk log = small_log(durable);
  SimulatedDisk counted(log);
  REQUIRE(said(fold_log(counted, kDirectory, durable)) == "");
  int failed = 0;
  for (const IoCall call : {IoCall::open, IoCall::read, IoCall::write, IoCall::sync, IoCall::rename, IoCall::list,
                            IoCall::sync_directory}) {
    for (std::uint64_t nth = 1; nth <= 40; ++nth) {
      CAPTURE(static_cast<int>(call));
      CAPTURE(nth);
      SimulatedDisk disk(log);
      disk.plan({.kind = FaultKind::fail, .call = call, .path_part = {}, .nth = nth});
      if (!fold_log(disk, kDirectory, durable)) ++failed;
      disk.clear_faults();
      const auto snapshots = snapshots_of(disk);
      check_same(disk, snapshots.empty() ? Lsn() : snapshots.back());
      REQUIRE(said(fold_log(disk, kDirectory, durable)) == "");
    }
  }
  CHECK(failed > 20);
}

TEST_CASE("fold: each bit of a snapshot flipped, and each length cut off, is found, and the older one is used") {
  Lsn durable;
  SimulatedDisk log = small_log(durable);
  REQUIRE(said(fold_log(log, kDirectory, Lsn(durable.value() / 2))) == "");
  REQUIRE(said(fold_log(log, kDirectory, durable)) == "");
  const auto snapshots = snapshots_of(log);
  REQUIRE(snapshots.size() == 2);
  const std::string path = snapshot_path(kDirectory, snapshots[1]);
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
  LogCleaner cleaner(disk, kDirectory);
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
    REQUIRE(said(fold_log(log, kDirectory, Lsn(durable.value() * part / 8))) == "");
  }
  log.crash(3);
  SimulatedDisk counted(log);
  const std::uint64_t before = counted.counters().calls();
  REQUIRE(said(clean(counted)) == "");
  const std::uint64_t calls = counted.counters().calls() - before;
  const auto left = look_at_directory(counted, kDirectory).value();
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
  const auto segments = [&] { return look_at_directory(log, kDirectory).value().segments; };
  const auto all = segments();
  REQUIRE(all.size() > 2);
  REQUIRE(said(fold_log(log, kDirectory, durable)) == "");
  REQUIRE(said(clean(log)) == "");
  CHECK(segments() == all);
  REQUIRE(said(fold_log(log, kDirectory, Lsn(durable.value() - 1))) == "");
  LogCleaner cleaner(log, kDirectory);
  REQUIRE(said(cleaner.look()) == "");
  CHECK(cleaner.covered() < durable);
  const Lsn second_ends = cleaner.segments().at(1).last;
  CHECK(cleaner.remove_segments(Lsn(second_ends.value() - 1)).value() == 1);
  CHECK(cleaner.remove_segments(Lsn(second_ends.value() - 1)).value() == 0);
  CHECK(cleaner.remove_segments(durable).value() > 0);
  CHECK(start(log, 1).last == durable);
}
