#include "tests/unit/server/fold_world.h"

#include "tests/unit/server/random_history.h"
#include "tests/unit/server/snapshot_text.h"

#include "tests/doctest.h"

namespace holdfast::testing {
namespace {

LogSettings log_settings() {
  LogSettings settings;
  settings.directory = kLogDirectory;
  settings.segment_bytes = kSegmentBytesMin;
  return settings;
}

/// The same disk with nothing but the log.
SimulatedDisk without_snapshots(const SimulatedDisk& disk) {
  SimulatedDisk bare(disk);
  for (const Lsn lsn : snapshots_of(bare)) REQUIRE(bare.remove(snapshot_path(kLogDirectory, lsn)).has_value());
  return bare;
}

}  // namespace

Result<void> LogWriter::open() {
  auto recovery = LogRecovery::open(disk_, clock_, random_, log_settings());
  if (!recovery) return recovery.error();
  bench_ = std::make_unique<ShardedBench>(std::uint16_t{1}, tape_, history_settings());
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

Result<void> LogWriter::run() {
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

Started start(FileSystem& files, const std::string& directory, std::uint16_t shards) {
  VirtualClock clock;
  SeededRandom random(1);
  Started started;
  LogSettings settings = log_settings();
  settings.directory = directory;
  settings.notice = [&](std::string_view line) { started.notices.emplace_back(line); };
  auto recovery = LogRecovery::open(files, clock, random, settings);
  if (!recovery) return started.refusal = said(recovery), started;
  RecordTape tape;
  ShardedBench bench(shards, tape, history_settings());
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

std::vector<Lsn> snapshots_of(SimulatedDisk& disk) { return look_at_directory(disk, kLogDirectory).value().snapshots; }

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

SimulatedDisk small_log(Lsn& durable, std::uint64_t seed) {
  SimulatedDisk disk;
  VirtualClock clock;
  LogWriter writer(disk, clock, seed, hold_time(1'000'000));
  REQUIRE(said(writer.open()) == "");
  for (int i = 0; i < 120; ++i) REQUIRE(said(writer.run()) == "");
  durable = writer.durable();
  disk.kill_process();
  return disk;
}

}  // namespace holdfast::testing
