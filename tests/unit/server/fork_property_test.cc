// Forks of logs that an inventory wrote: cut anywhere, from the log alone or from a snapshot and the log behind it, they
// come to what the original came to there, and say so. Repairs of such logs, too.
//
// HOLDFAST_SEED=n first seed; HOLDFAST_ROUNDS=n histories.
#include "server/fold.h"
#include "server/sharded_replay.h"
#include "storage/log.h"
#include "storage/log_copy.h"
#include "storage/log_files.h"
#include "storage/log_repair.h"
#include "storage/log_walk.h"
#include "storage/record_reader.h"
#include "tests/random_runs.h"
#include "tests/simulation/simulated_disk.h"
#include "tests/unit/server/random_history.h"
#include "tests/unit/server/sharded_bench.h"
#include "tests/unit/server/snapshot_text.h"

#include "tests/doctest.h"

#include <algorithm>

using namespace holdfast;
using namespace holdfast::simulation;
using namespace holdfast::testing;

namespace {

constexpr std::uint64_t kRounds = test::rounds_here(30);
constexpr std::uint64_t kCommands = 120;
const std::string kFrom = "/data/log";
const std::string kTo = "/data/fork";

using Items = std::map<std::string, std::vector<std::string>>;

template <class T>
std::string said(const Result<T>& result) {
  return result ? std::string() : std::string(result.error().text());
}

Inventory::Settings inventory_settings() {
  Inventory::Settings settings;
  settings.ended_max = 3;
  settings.ended_retention = Millis(5'000);
  return settings;
}

/// One inventory, read from a log.
struct Reader {
  RecordTape tape;
  ShardedBench bench{std::uint16_t{1}, tape, inventory_settings()};
  ShardedReplay replay{bench.inventories()};

  Items items() const { return items_as_text(bench.inventories()); }
};

struct Started {
  std::string refusal;
  LogIdentity identity;
  Lsn from;
  Lsn last;
  Items items;
};

/// What a server finds that starts from a directory. Changes nothing.
Started start(const SimulatedDisk& from, const std::string& directory) {
  SimulatedDisk disk(from);
  VirtualClock clock;
  SeededRandom random(1);
  Started started;
  LogSettings settings;
  settings.directory = directory;
  settings.segment_bytes = kSegmentBytesMin;
  settings.require_data = true;
  auto recovery = LogRecovery::open(disk, clock, random, settings);
  if (!recovery) return started.refusal = said(recovery), started;
  Reader reader;
  const auto restored = (*recovery)->restore(reader.replay);
  if (!restored) return started.refusal = said(restored), started;
  const auto replayed = (*recovery)->replay(reader.replay.visitor());
  if (!replayed) return started.refusal = said(replayed), started;
  if (reader.replay.finish() != replayed->state) return started.refusal = "another state", started;
  started.identity = (*recovery)->identity();
  started.from = restored->lsn;
  started.last = replayed->last_lsn;
  started.items = reader.items();
  return started;
}

/// A log of some starts, a batch of one or several commands each, with a snapshot somewhere.
struct History {
  SimulatedDisk disk;
  VirtualClock clock;
  Dice dice;
  Lsn snapshot;
  Lsn last;

  explicit History(std::uint64_t seed) : dice(seed) {
    std::int64_t now_ms = 1'000'000;
    std::uint64_t version = 1;
    const std::uint64_t fold_at = dice.below(kCommands);
    for (std::uint64_t command = 0; command < kCommands;) {
      run(seed + command, now_ms, version, command, fold_at);
      disk.kill_process();
    }
  }

 private:
  void run(std::uint64_t seed, std::int64_t& now_ms, std::uint64_t& version, std::uint64_t& command,
           std::uint64_t fold_at) {
    SeededRandom random(seed);
    LogSettings settings;
    settings.directory = kFrom;
    settings.segment_bytes = kSegmentBytesMin;
    auto recovery = LogRecovery::open(disk, clock, random, settings);
    REQUIRE(said(recovery) == "");
    Reader reader;
    REQUIRE(said((*recovery)->restore(reader.replay)) == "");
    REQUIRE(said((*recovery)->replay(reader.replay.visitor())) == "");
    static_cast<void>(reader.replay.finish());
    auto log = Log::start(std::move(*recovery));
    REQUIRE(said(log) == "");
    Group group(ShardIndex(0), 16_KiB);
    std::uint64_t ordinal = 0;
    do {
      const std::size_t before = reader.tape.size();
      for (std::uint64_t more = 1 + dice.below(4); more > 0; --more, ++command) {
        now_ms += static_cast<std::int64_t>(dice.below(200));
        reader.bench.set_now({hold_time(now_ms), wall_time(now_ms + 1'800'000'000'000), {}});
        reader.bench.ask(random_history_line(dice, version += dice.below(2)));
      }
      if (reader.tape.size() > before) {
        group.open(GroupOrdinal(++ordinal));
        reader.tape.write(before, group);
        group.seal(reader.bench.hash());
        Group* const batch[] = {&group};
        REQUIRE(said((*log)->make_room(batch)) == "");
        REQUIRE(said((*log)->commit(batch, group.state())) == "");
        REQUIRE(said((*log)->tick()) == "");
      }
      last = (*log)->durable_lsn();
      if (command >= fold_at && snapshot == Lsn() && last > Lsn()) {
        const auto folded = fold_log(disk, kFrom, last);
        REQUIRE(said(folded) == "");
        snapshot = folded->lsn;
      }
    } while (command < kCommands && !dice.chance(1, 20));
  }
};

/// What the records of a log up to here make of one inventory.
Items items_at(SimulatedDisk disk, Lsn through) {
  Reader reader;
  auto walk = LogWalk::open(disk, kFrom);
  REQUIRE(said(walk) == "");
  for (auto step = walk->next(); step != LogWalk::Step::end; step = walk->next()) {
    if (step == LogWalk::Step::segment) continue;
    const BatchHeader& header = walk->batch().header;
    const auto body = walk->batch().body;
    const auto kept = leading_steps({body, header.first_lsn, header.count, Lsn()}, through, WallTime::max());
    if (kept.count == 0) break;
    REQUIRE(said(read_records({body.first(kept.bytes), header.first_lsn, kept.count, Lsn()},
                              reader.replay.visitor())) == "");
  }
  static_cast<void>(reader.replay.finish());
  return reader.items();
}

Result<ForkSummary> fork(SimulatedDisk& disk, Lsn through) {
  const auto source = look_at_source(disk, kFrom);
  if (!source) return source.error();
  HOLDFAST_TRY(disk.make_directory(kTo));
  ForkSettings settings;
  settings.directory = kTo;
  settings.identity.id.fill(7);
  settings.identity.secret.fill(8);
  settings.identity.forked_from_id = source->identity.id;
  settings.through = through;
  LogFork fork(disk, settings);
  HOLDFAST_TRY(copy_log(disk, kFrom, fork));
  HOLDFAST_TRY(fork.write_out());
  HOLDFAST_TRY(LogFork::take_place(disk, kTo));
  return fork.summary();
}

void check_fork(const History& history, SimulatedDisk disk, Lsn through, Lsn snapshot) {
  CAPTURE(through.value());
  const auto summary = fork(disk, through);
  REQUIRE(said(summary) == "");
  REQUIRE(summary->last <= through);
  REQUIRE(summary->snapshot == snapshot);
  disk.crash(through.value());
  const Started started = start(disk, kTo);
  REQUIRE(started.refusal == "");
  REQUIRE(started.from == snapshot);
  REQUIRE(started.last == summary->last);
  REQUIRE(started.identity.forked_from_lsn == summary->last);
  REQUIRE(started.items == items_at(history.disk, summary->last));
  VirtualClock clock;
  SeededRandom random(1);
  const auto verdict = verify_log(disk, clock, random, kTo);
  REQUIRE(said(verdict) == "");
  REQUIRE(verdict->refusal == "");
}

/// Only what the snapshot does not cover is left of the log; nothing where that is all of it.
std::optional<SimulatedDisk> with_segments_gone(const History& history) {
  SimulatedDisk disk(history.disk);
  const auto found = look_at_directory(disk, kFrom);
  REQUIRE(said(found) == "");
  bool gone = false;
  for (std::size_t index = 0; index + 1 < found->segments.size(); ++index) {
    auto window = FileWindow::open(disk, segment_path(kFrom, found->segments[index + 1]), OpenMode::read);
    REQUIRE(said(window) == "");
    const auto block = window->view(0, kBlockBytes);
    const auto header = block ? read_segment_header(*block) : Result<SegmentHeader>(Error());
    if (!header || header->predecessor.last_lsn > history.snapshot) break;
    REQUIRE(said(disk.remove(segment_path(kFrom, found->segments[index]))) == "");
    gone = true;
  }
  disk.kill_process();
  return gone ? std::optional(disk) : std::nullopt;
}

Lsn first_lsn(SimulatedDisk disk) {
  const auto source = look_at_source(disk, kFrom);
  REQUIRE(said(source) == "");
  return source->first;
}

/// Flips a bit in the records of one of the last batches.
void damage(SimulatedDisk& disk, Dice& dice) {
  auto walk = LogWalk::open(disk, kFrom);
  REQUIRE(said(walk) == "");
  std::vector<std::pair<std::string, std::uint64_t>> batches;
  for (auto step = walk->next(); step != LogWalk::Step::end; step = walk->next()) {
    if (step == LogWalk::Step::batch) batches.emplace_back(walk->path(), walk->batch().offset);
  }
  REQUIRE(!batches.empty());
  const auto& [path, offset] = batches[batches.size() - 1 - dice.below(std::min<std::size_t>(batches.size(), 5))];
  disk.file(path).flip_bit(offset + segment_format::kBatchHeaderBytes + dice.below(20), 3);
}

}  // namespace

TEST_CASE("fork property: cut anywhere, a fork comes to what the original came to there") {
  std::uint64_t from_snapshots = 0;
  const std::uint64_t rounds = test::number_from_environment("HOLDFAST_ROUNDS", kRounds);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const std::uint64_t seed = test::number_from_environment("HOLDFAST_SEED", 1) + round;
    CAPTURE(seed);
    History history(seed);
    const auto rest = with_segments_gone(history);
    // Where only segments without a record are gone, the rest is whole.
    const Lsn base = rest && first_lsn(*rest) > Lsn(1) ? history.snapshot : Lsn();
    for (int cuts = 0; cuts < 12; ++cuts) {
      const Lsn through(cuts == 0 ? history.last.value() : history.dice.below(history.last.value() + 1));
      check_fork(history, history.disk, through, Lsn());
      if (!rest) continue;
      if (through >= base) {
        check_fork(history, *rest, through, base);
        from_snapshots += base > Lsn() ? 1U : 0U;
      } else {
        SimulatedDisk disk(*rest);
        CHECK(said(fork(disk, through)).find("is the oldest state that is kept") != std::string::npos);
      }
    }
  }
  MESSAGE(from_snapshots << " forks begin with a snapshot");
  if (rounds >= 30) CHECK(from_snapshots > 0);
}

TEST_CASE("fork property: a damaged log comes back as it was before the damage, also from a snapshot") {
  std::uint64_t from_snapshots = 0;
  const std::uint64_t rounds = test::number_from_environment("HOLDFAST_ROUNDS", kRounds);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const std::uint64_t seed = test::number_from_environment("HOLDFAST_SEED", 1) + round;
    CAPTURE(seed);
    History history(seed);
    auto rest = with_segments_gone(history);
    SimulatedDisk& disk = rest ? *rest : history.disk;
    const History original(seed);
    damage(disk, history.dice);
    SeededRandom random(seed);
    auto repair = std::make_unique<LogRepair>(disk, history.clock, random, kFrom);
    const auto report = repair->examine();
    REQUIRE(said(report) == "");
    REQUIRE_FALSE(report->usable);
    REQUIRE(said(repair->carry_out()) == "");
    repair.reset();  // and its lock
    const Started started = start(disk, kFrom);
    REQUIRE(started.refusal == "");
    REQUIRE(started.last == report->kept);
    REQUIRE(started.from == report->base);
    REQUIRE(started.items == items_at(original.disk, report->kept));
    from_snapshots += report->base > Lsn() ? 1U : 0U;
  }
  MESSAGE(from_snapshots << " repairs begin with a snapshot");
  if (rounds >= 30) CHECK(from_snapshots > 0);
}
