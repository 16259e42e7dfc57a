// Forks of a log: the same records as another log, whole or up to a place.
#include "storage/log_fork.h"

#include "storage/log_walk.h"
#include "storage/record_reader.h"
#include "tests/unit/storage/log_fixture.h"

#include "tests/doctest.h"

namespace holdfast::test {
namespace {

const std::string kFrom = "/data/log";
const std::string kTo = "/data/fork";

/// Three starts with some batches each.
struct Original {
  SimulatedDisk disk;
  VirtualClock clock;
  Lines lines;
  LogIdentity identity;
  StateHash state;

  explicit Original(bool tells_true_state = true, int batches = 4, std::size_t records = 9) {
    for (std::uint64_t life = 1; life <= 3; ++life) {
      LogDriver driver(disk, clock, life);
      driver.tells_true_state = tells_true_state;
      REQUIRE(said(driver.open()) == "");
      for (int batch = 0; batch < batches; ++batch) {
        REQUIRE(said(driver.write(records)) == "");
        REQUIRE(said(driver.tick()) == "");
        clock.advance(std::chrono::seconds(1));
      }
      lines = driver.lines;
      identity = driver.log->identity();
      disk.kill_process();
    }
    LogDriver reader(disk, clock, 9);
    REQUIRE(said(reader.recover()) == "");
    state = reader.recovered.state;
    disk.kill_process();
  }
};

ForkSettings settings_of(const Original& original) {
  ForkSettings settings;
  settings.directory = kTo;
  settings.identity.id.fill(7);
  settings.identity.secret.fill(8);
  settings.identity.forked_from_id = original.identity.id;
  return settings;
}

Result<ForkSummary> fork(SimulatedDisk& disk, const ForkSettings& settings) {
  HOLDFAST_TRY(disk.make_directory(kTo));
  HOLDFAST_TRY(LogFork::discard(disk, kTo));
  LogFork fork(disk, settings);
  auto walk = LogWalk::open(disk, kFrom);
  if (!walk) return walk.error();
  bool wanted = true;
  for (auto step = walk->next(); wanted && step != LogWalk::Step::end; step = walk->next()) {
    if (step == LogWalk::Step::segment) continue;
    const auto added = fork.add(walk->batch().header, walk->batch().body);
    if (!added) return added.error();
    wanted = *added;
  }
  HOLDFAST_TRY(fork.write_out());
  HOLDFAST_TRY(LogFork::take_place(disk, kTo));
  return fork.summary();
}

/// What a server would find in the fork.
Result<void> recover(LogDriver& driver) {
  driver.settings.directory = kTo;
  driver.settings.require_data = true;
  return driver.recover();
}

/// Each record of the original, CLOCK ones too: where it is, whether a step begins with it, and when.
struct Boundaries final : RecordVisitor, RecordExtras {
  struct At {
    Lsn lsn;
    bool begins = false;
    WallTime wall{};
  };
  std::vector<At> records;
  bool after_clock = false;

  void add(const RecordStamp& stamp, bool clock) {
    const bool begins = clock || (!after_clock && (records.empty() || records.back().wall != stamp.wall));
    records.push_back({stamp.lsn, begins, stamp.wall});
    after_clock = clock;
  }
  Result<void> note(const RecordStamp& stamp) { return add(stamp, false), Result<void>(); }
  Result<void> on_item(const RecordStamp& stamp, const ItemRecord&) override { return note(stamp); }
  Result<void> on_reservation(const RecordStamp& stamp, const ReservationRecord&) override { return note(stamp); }
  Result<void> on_forget(const RecordStamp& stamp, const ForgetRecord&) override { return note(stamp); }
  Result<void> on_default_returns(const RecordStamp& stamp, const DefaultReturnsRecord&) override {
    return note(stamp);
  }
  void on_clock(const RecordStamp& stamp) override { add(stamp, true); }
  void on_unknown(const RecordStamp&, std::uint8_t, std::size_t) override {}

  explicit Boundaries(SimulatedDisk& disk) {
    auto walk = LogWalk::open(disk, kFrom);
    REQUIRE(said(walk) == "");
    for (auto step = walk->next(); step != LogWalk::Step::end; step = walk->next()) {
      if (step == LogWalk::Step::segment) continue;
      const FoundBatch& batch = walk->batch();
      REQUIRE(said(read_records({batch.body, batch.header.first_lsn, batch.header.count, Lsn()}, *this, this)) == "");
    }
  }
  /// The last record of the whole steps among the first `count` records.
  Lsn cut(std::size_t count) const {
    while (count < records.size() && count > 0 && !records[count].begins) --count;
    return count == 0 ? Lsn() : records[count - 1].lsn;
  }
};

/// The fork opens, holds the original up to here, says the state that its records make, and goes on.
void check_fork(SimulatedDisk disk, const Original& original, const ForkSummary& summary) {
  VirtualClock clock(original.clock);
  LogDriver driver(disk, clock, 20);
  driver.tells_true_state = true;
  REQUIRE(said(recover(driver)) == "");
  CHECK(driver.recovered.last_lsn == summary.last);
  CHECK(driver.recovered.state == summary.state);
  CHECK(driver.recovery->identity().forked_from_id == original.identity.id);
  CHECK(driver.recovery->identity().forked_from_lsn == summary.last);
  const Lines expected(original.lines.begin(), original.lines.upper_bound(summary.last));
  CHECK(driver.lines == expected);
  REQUIRE(said(driver.start()) == "");
  REQUIRE(said(driver.write(3)) == "");
  const Lines more = driver.lines;
  disk.kill_process();
  LogDriver again(disk, clock, 21);
  REQUIRE(said(recover(again)) == "");
  CHECK(again.lines == more);
  disk.kill_process();
}

}  // namespace

TEST_CASE("fork: a whole log goes on under another id, with the same records and the same state") {
  Original original;
  SimulatedDisk disk(original.disk);
  const auto summary = fork(disk, settings_of(original));
  REQUIRE(said(summary) == "");
  CHECK(summary->last == original.lines.rbegin()->first);
  CHECK(summary->state == original.state);
  CHECK_FALSE(summary->cut);
  check_fork(disk, original, *summary);
  disk.crash(3);
  check_fork(disk, original, *summary);
}

TEST_CASE("fork: small segments, and batches larger than they are") {
  Original original;
  SimulatedDisk disk(original.disk);
  auto settings = settings_of(original);
  settings.segment_bytes = 2 * kBlockBytes;
  const auto summary = fork(disk, settings);
  REQUIRE(said(summary) == "");
  CHECK(disk.names_in(kTo).size() == 12 + 1);  // a batch each, and the mark
  check_fork(disk, original, *summary);
}

TEST_CASE("fork: cut at any LSN it holds the steps that end by then, and nothing of another one") {
  Original original(true, 2);
  const Boundaries boundaries(original.disk);
  REQUIRE(boundaries.records.size() > 60);
  std::size_t whole = 0;
  for (std::size_t count = 0; count <= boundaries.records.size(); ++count) {
    CAPTURE(count);
    SimulatedDisk disk(original.disk);
    auto settings = settings_of(original);
    settings.through = Lsn(count);
    const auto summary = fork(disk, settings);
    REQUIRE(said(summary) == "");
    CHECK(summary->last == boundaries.cut(count));
    CHECK((summary->cut || summary->last == Lsn(count)));
    whole += summary->last == Lsn(count) ? 1U : 0U;
    check_fork(disk, original, *summary);
  }
  CHECK(whole > 10);
  CHECK(whole < boundaries.records.size());
}

TEST_CASE("fork: cut at a time it ends before the first record that is later") {
  Original original(true, 2);
  const Boundaries boundaries(original.disk);
  const WallTime first = boundaries.records.front().wall;
  const WallTime last = boundaries.records.back().wall;
  for (WallTime until = first - Millis(1); until <= last + Millis(1);
       until += Millis(1 + (last - first).count() / 97)) {
    CAPTURE(to_ms(until));
    SimulatedDisk disk(original.disk);
    auto settings = settings_of(original);
    settings.until = until;
    const auto summary = fork(disk, settings);
    REQUIRE(said(summary) == "");
    std::size_t count = 0;
    while (count < boundaries.records.size() && boundaries.records[count].wall <= until) ++count;
    CHECK(summary->last == boundaries.cut(count));
    CHECK((summary->last == Lsn() || summary->last_wall <= until));
    check_fork(disk, original, *summary);
  }
}

TEST_CASE("fork: a batch that tells another state than its records make is refused, or restated") {
  Original original(false);
  SimulatedDisk disk(original.disk);
  auto settings = settings_of(original);
  CHECK(said(fork(disk, settings)).find("make another state") != std::string::npos);
  settings.restate = true;
  const auto summary = fork(disk, settings);
  REQUIRE(said(summary) == "");
  CHECK(summary->restated == 12);
  check_fork(disk, original, *summary);
}

TEST_CASE("fork: what does not follow is refused") {
  Original original;
  LogFork fork(original.disk, settings_of(original));
  BatchHeader header;
  header.first_lsn = Lsn(2);
  header.count = 1;
  header.epoch = 1;
  CHECK(said(fork.add(header, {})).find("follows LSN 0") != std::string::npos);
  header.first_lsn = Lsn(1);
  header.epoch = 0;
  CHECK(said(fork.add(header, {})) != "");
  header.epoch = 1;
  header.count = 0;
  CHECK(said(fork.add(header, {})) != "");
}

TEST_CASE("fork: cut off anywhere, a server finds no log, or refuses, or finds all of it; and it can be done again") {
  Original original(true, 2);
  auto settings = settings_of(original);
  settings.segment_bytes = 3 * kBlockBytes;
  SimulatedDisk whole(original.disk);
  const auto before = whole.counters().calls();
  const auto summary = fork(whole, settings);
  REQUIRE(said(summary) == "");
  const auto calls = whole.counters().calls() - before;
  std::uint64_t found = 0;
  for (std::uint64_t call = 1; call <= calls; ++call) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      CAPTURE(call);
      CAPTURE(seed);
      SimulatedDisk disk(original.disk);
      disk.crash_at(call);
      try {
        static_cast<void>(fork(disk, settings));
      } catch (const simulation::SimulatedCrash&) {
      }
      disk.clear_faults();
      disk.crash(call * 10 + seed);
      SimulatedDisk copy(disk);
      VirtualClock clock(original.clock);
      LogDriver driver(copy, clock, 30);
      if (recover(driver)) {
        CHECK(driver.lines == original.lines);
        ++found;
        continue;  // it is done
      }
      const auto again = fork(disk, settings);
      REQUIRE(said(again) == "");
      check_fork(disk, original, *again);
    }
  }
  CHECK(found > 0);
}

}  // namespace holdfast::test
