// Damage of every kind to a small log: recovery finds exactly what was there, or refuses and changes nothing.
#include "tests/unit/storage/damaged_corpus.h"

#include "storage/log_files.h"
#include "storage/segment_reader.h"
#include "storage/segment_writer.h"
#include "storage/snapshot_writer.h"

#include "tests/doctest.h"

#include <array>

namespace holdfast::test {
namespace {

using simulation::FaultKind;
using simulation::IoCall;

constexpr std::string_view kDirectory = "/data/log";

/// How often each row of the recovery table was reached, over all cases of this file.
std::array<std::uint64_t, kRecoveryRows> rows_reached;

struct Outcome {
  bool refused = false;
  std::string text;
  Lines lines;
};

/// Notes that a disk as it was came to this row; the first of each row is kept when a new corpus is asked for.
void count(const std::optional<SimulatedDisk>& before, RecoveryRow row, std::string_view outcome) {
  if (rows_reached[static_cast<std::size_t>(row)]++ == 0 && before) {
    keep_damaged(SimulatedDisk(*before), new_corpus() + "/" + std::string(row_name(row)), outcome);
  }
}

/// What a recovery of this disk comes to; counts its row.
Outcome outcome_of(SimulatedDisk& disk) {
  std::optional<SimulatedDisk> before;
  if (!new_corpus().empty()) before.emplace(disk);
  VirtualClock clock;
  LogDriver driver(disk, clock, 99);
  const auto recovered = driver.recover();
  if (recovered) {
    const std::string opens = opens_with(driver);
    count(before, driver.recovered.tail, opens);
    if (driver.recovered.unused_segment) count(before, RecoveryRow::unused_segment, opens);
    return {false, {}, driver.lines};
  }
  const std::string text = said(recovered);
  for (std::size_t row = 0; row < kRecoveryRows; ++row) {
    const auto reached = static_cast<RecoveryRow>(row);
    if (text.starts_with(row_name(reached))) count(before, reached, text);
  }
  return {true, text, {}};
}

struct SmallLog {
  SimulatedDisk disk;
  VirtualClock clock;
  Lines lines;

  /// Three starts, so that two segments are pinned by successors; the last one ends with a batch.
  explicit SmallLog(FsyncPolicy fsync = FsyncPolicy::always) {
    for (std::uint64_t life = 1; life <= 3; ++life) {
      LogDriver driver(disk, clock, life, fsync);
      REQUIRE(said(driver.open()) == "");
      for (int batch = 0; batch < 3; ++batch) REQUIRE(said(driver.write(2)) == "");
      lines = driver.lines;
    }
    disk.kill_process();
  }
};

std::string path(std::uint64_t number) { return segment_path(std::string(kDirectory), number); }
std::string mark() { return mark_path(std::string(kDirectory)); }

void write_over(SimulatedDisk& disk, const std::string& file, std::uint64_t offset, std::span<const std::byte> bytes) {
  disk.file(file).overwrite_behind(offset, bytes);
}

/// The offsets of a segment's batches.
std::vector<std::uint64_t> batches_of(SimulatedDisk& disk, std::uint64_t number) {
  auto window = FileWindow::open(disk, path(number), OpenMode::read);
  REQUIRE(said(window) == "");
  const auto block = window->view(0, kBlockBytes);
  const auto header = read_segment_header(*block);
  REQUIRE(said(header) == "");
  SegmentReader reader(*window, *header);
  std::vector<std::uint64_t> offsets;
  for (auto found = reader.next(); found && found->finding == BatchFinding::valid; found = reader.next()) {
    offsets.push_back(found->offset);
  }
  return offsets;
}

/// Refused, and no byte differs from before.
void check_refused(SimulatedDisk& disk, RecoveryRow row) {
  std::map<std::string, std::vector<std::byte>> before;
  for (const auto& name : disk.names_in(std::string(kDirectory))) {
    before[name] = disk.contents(std::string(kDirectory) + "/" + name);
  }
  const auto outcome = outcome_of(disk);
  CHECK(outcome.refused);
  CHECK(outcome.text.substr(0, outcome.text.find(':')) == row_name(row));
  for (const auto& name : disk.names_in(std::string(kDirectory))) {
    CHECK(before[name] == disk.contents(std::string(kDirectory) + "/" + name));
  }
}

/// Opens, holds these lines, goes on, and holds them and more afterwards.
void check_opens(SimulatedDisk disk, const Lines& lines) {
  VirtualClock clock;
  Lines known = lines;
  for (int life = 0; life < 2; ++life) {
    LogDriver driver(disk, clock, 50);
    REQUIRE(said(driver.open()) == "");
    CHECK(driver.lines == known);
    REQUIRE(said(driver.write(3)) == "");
    known = driver.lines;
    disk.crash(7);
  }
}

}  // namespace

TEST_CASE("damage: each bit flipped is found or harmless, never a third") {
  const SmallLog log;
  std::uint64_t identical = 0;
  std::uint64_t refused = 0;
  for (const auto& file : {path(1), path(2), path(3), mark()}) {
    const auto bytes = log.disk.contents(file);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      for (unsigned bit = 0; bit < 8; ++bit) {
        if ((at * 8 + bit) % (kThinning * kThinning) != 0) continue;
        SimulatedDisk disk(log.disk);
        disk.file(file).flip_bit(at, bit);
        const auto outcome = outcome_of(disk);
        if (!outcome.refused && outcome.lines != log.lines) FAIL(file << " byte " << at << " bit " << bit);
        ++(outcome.refused ? refused : identical);
      }
    }
  }
  MESSAGE(identical << " flips harmless, " << refused << " refused");
  CHECK(identical > 1000 / kThinning);
  CHECK(refused > 10'000 / kThinning);
}

TEST_CASE("damage: each length cut off is found or harmless") {
  const SmallLog log;
  std::uint64_t identical = 0;
  std::uint64_t refused = 0;
  for (const auto& file : {path(1), path(2), path(3), mark()}) {
    const auto size = log.disk.contents(file).size();
    for (std::size_t length = 0; length < size; length += kThinning) {
      SimulatedDisk disk(log.disk);
      disk.file(file).truncate_behind(length);
      const auto outcome = outcome_of(disk);
      if (!outcome.refused && outcome.lines != log.lines) FAIL(file << " cut to " << length);
      ++(outcome.refused ? refused : identical);
    }
  }
  MESSAGE(identical << " lengths harmless, " << refused << " refused");
  CHECK(identical > 100 / kThinning);
  CHECK(refused > 1000 / kThinning);
}

TEST_CASE("damage: files missing, swapped, copied and foreign are refused") {
  const SmallLog log;
  SUBCASE("a segment in the middle is gone") {
    SimulatedDisk disk(log.disk);
    REQUIRE(said(disk.remove(path(2))) == "");
    check_refused(disk, RecoveryRow::missing_file);
  }
  SUBCASE("the first is gone") {
    SimulatedDisk disk(log.disk);
    REQUIRE(said(disk.remove(path(1))) == "");
    check_refused(disk, RecoveryRow::missing_file);
  }
  SUBCASE("the last is gone") {
    SimulatedDisk disk(log.disk);
    REQUIRE(said(disk.remove(path(3))) == "");
    check_refused(disk, RecoveryRow::below_floor);
  }
  SUBCASE("all are gone, the mark is there") {
    SimulatedDisk disk(log.disk);
    for (std::uint64_t number = 1; number <= 3; ++number) REQUIRE(said(disk.remove(path(number))) == "");
    check_refused(disk, RecoveryRow::missing_file);
  }
  SUBCASE("two are swapped") {
    SimulatedDisk disk(log.disk);
    REQUIRE(said(disk.rename(path(1), path(9))) == "");
    REQUIRE(said(disk.rename(path(2), path(1))) == "");
    REQUIRE(said(disk.rename(path(9), path(2))) == "");
    check_refused(disk, RecoveryRow::foreign_file);
  }
  SUBCASE("another log's segment or mark is in its place") {
    SmallLog other;
    VirtualClock clock;
    SimulatedDisk foreign(5);
    LogDriver driver(foreign, clock, 77);
    REQUIRE(said(driver.open()) == "");
    REQUIRE(said(driver.write(2)) == "");
    foreign.kill_process();
    for (const auto& [file, row] :
         {std::pair(path(1), RecoveryRow::foreign_file), {mark(), RecoveryRow::foreign_file}}) {
      SimulatedDisk disk(log.disk);
      write_over(disk, file, 0, foreign.contents(file));
      check_refused(disk, row);
    }
  }
}

TEST_CASE("damage: without a mark the end of the log decides by what it looks like") {
  SmallLog log;
  REQUIRE(said(log.disk.remove(mark())) == "");
  const auto batches = batches_of(log.disk, 3);
  REQUIRE(batches.size() == 3);
  Lines before_last;
  {
    // What the log holds without its last batch.
    SimulatedDisk disk(log.disk);
    write_over(disk, path(3), batches[2], std::vector<std::byte>(kBlockBytes));
    const auto outcome = outcome_of(disk);
    REQUIRE_FALSE(outcome.refused);
    before_last = outcome.lines;
    CHECK(before_last.size() == log.lines.size() - 2);
  }
  SUBCASE("a batch in the middle: later ones prove that it was durable") {
    SimulatedDisk disk(log.disk);
    disk.file(path(3)).flip_bit(batches[1] + 130, 0);
    check_refused(disk, RecoveryRow::later_batch);
  }
  SUBCASE("the last batch, every sector of it there: rot") {
    SimulatedDisk disk(log.disk);
    disk.file(path(3)).flip_bit(batches[2] + 130, 0);
    check_refused(disk, RecoveryRow::rot);
  }
  SUBCASE("the last batch, its first sector lost: dropped, a copy kept, the old file as it was") {
    SimulatedDisk disk(log.disk);
    write_over(disk, path(3), batches[2], std::vector<std::byte>(512));
    write_over(disk, path(3), batches[2] + 600, std::vector<std::byte>(100, std::byte{7}));
    const auto old = disk.contents(path(3));
    CHECK(outcome_of(disk).lines == before_last);
    VirtualClock clock;
    LogDriver driver(disk, clock, 50);
    REQUIRE(said(driver.open()) == "");
    CHECK(disk.contents(path(3)) == old);
    const auto copy = disk.contents(broken_path(std::string(kDirectory), 3, batches[2]));
    CHECK(std::equal(copy.begin(), copy.end(), old.begin() + static_cast<std::ptrdiff_t>(batches[2])));
    disk.crash(1);
    check_opens(disk, before_last);
  }
  SUBCASE("something in the zeros behind the last batch: dropped") {
    SimulatedDisk disk(log.disk);
    disk.file(path(3)).flip_bit(batches[2] + 3 * kBlockBytes, 3);
    CHECK(outcome_of(disk).lines == log.lines);
    check_opens(disk, log.lines);
  }
  SUBCASE("a batch where it does not belong") {
    SimulatedDisk disk(log.disk);
    const auto bytes = disk.contents(path(3));
    const auto copy = std::span(bytes).subspan(batches[0], kBlockBytes);
    write_over(disk, path(3), batches[2] + kBlockBytes, copy);
    check_refused(disk, RecoveryRow::out_of_order);
  }
  SUBCASE("the read fails") {
    SimulatedDisk disk(log.disk);
    disk.plan({.kind = FaultKind::fail, .call = IoCall::read, .path_part = "segment", .nth = 5});
    check_refused(disk, RecoveryRow::read_failed);
  }
}

TEST_CASE("damage: a last segment without a sound header and without a batch was never begun") {
  SmallLog log;
  {
    LogDriver driver(log.disk, log.clock, 4);
    REQUIRE(said(driver.open()) == "");
    log.disk.kill_process();
  }
  for (const int value : {0, 9}) {
    SimulatedDisk disk(log.disk);
    write_over(disk, path(4), 0, std::vector<std::byte>(kBlockBytes, static_cast<std::byte>(value)));
    CHECK(outcome_of(disk).lines == log.lines);
    check_opens(disk, log.lines);
  }
}

TEST_CASE("damage: a sound batch with a record of the future is refused, whatever its sums say") {
  SmallLog log;
  const auto batches = batches_of(log.disk, 3);
  AlignedBuffer buffer;
  const auto batch = buffer.reserve(kBlockBytes).first(kBlockBytes);
  const auto bytes = log.disk.contents(path(3));
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(batches[2]), kBlockBytes, batch.begin());
  auto header = read_batch_header(batch);
  REQUIRE(header.has_value());
  batch[segment_format::kBatchHeaderBytes + kClockRecordBytes + 2] = std::byte{0x4f};
  seal_batch(batch, *header);
  write_over(log.disk, path(3), batches[2], batch);
  check_refused(log.disk, RecoveryRow::bad_record);
}

TEST_CASE("damage: with everysec a batch lost before a later one is no rot") {
  SmallLog log(FsyncPolicy::everysec);
  REQUIRE(said(log.disk.remove(mark())) == "");
  const auto batches = batches_of(log.disk, 3);
  write_over(log.disk, path(3), batches[1], std::vector<std::byte>(kBlockBytes));
  const auto outcome = outcome_of(log.disk);
  CHECK(outcome.text == "");
  CHECK(outcome.lines.size() == log.lines.size() - 4);
  check_opens(log.disk, outcome.lines);
}

TEST_CASE("damage: of two snapshots the older one is used when the newer is damaged, and neither when both are") {
  SmallLog log;
  const auto snapshot = [](std::uint64_t lsn) { return snapshot_path(std::string(kDirectory), Lsn(lsn)); };
  const auto header = read_segment_header(log.disk.contents(path(1)));
  REQUIRE(header.has_value());
  for (const std::uint64_t lsn : {3U, 6U}) {
    SnapshotHeader of_log;
    of_log.log = header->log;
    of_log.lsn = Lsn(lsn);
    of_log.incarnation = 1;
    auto writer = SnapshotWriter::begin(log.disk, std::string(kDirectory), of_log);
    REQUIRE(said(writer) == "");
    REQUIRE(said((*writer)->on_log({})) == "");
    REQUIRE(said((*writer)->publish()) == "");
  }
  CHECK(outcome_of(log.disk).lines == Lines(log.lines.upper_bound(Lsn(6)), log.lines.end()));
  log.disk.file(snapshot(6)).flip_bit(kBlockBytes + 20, 3);
  CHECK(outcome_of(log.disk).lines == Lines(log.lines.upper_bound(Lsn(3)), log.lines.end()));
  log.disk.file(snapshot(3)).flip_bit(45, 0);
  check_refused(log.disk, RecoveryRow::bad_snapshot);
  REQUIRE(said(log.disk.remove(snapshot(3))) == "");
  REQUIRE(said(log.disk.remove(snapshot(6))) == "");
  check_opens(log.disk, log.lines);
}

TEST_CASE("damage: the recovery table has no row that the tests do not reach") {
  // The other cases of this file come before this one.
  for (std::size_t row = 0; row < kRecoveryRows; ++row) {
    MESSAGE(row_name(static_cast<RecoveryRow>(row)) << " " << rows_reached[row]);
    CHECK(rows_reached[row] > 0);
  }
}

}  // namespace holdfast::test
