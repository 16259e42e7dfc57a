#include "storage/log_reader.h"

#include "storage/log_feed.h"
#include "storage/log_files.h"
#include "storage/segment_reader.h"
#include "tests/doctest.h"
#include "tests/unit/storage/log_fixture.h"

namespace holdfast::test {
namespace {

/// Keeps what the log tells of.
class Fed final : public LogFeed {
 public:
  explicit Fed(std::size_t bytes_max) : recent(bytes_max) {}
  void on_written(std::span<const std::byte> batch, const BatchHeader& header) override { recent.add(batch, header); }
  void on_durable(Lsn lsn) override { durable = lsn; }
  RecentBatches recent;
  Lsn durable;
};

std::string text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The batches of all files in order, as the reader of recovery finds them, without padding.
std::vector<std::string> batches_on_disk(SimulatedDisk& disk, const std::vector<SegmentSpan>& segments) {
  std::vector<std::string> found;
  for (const SegmentSpan& segment : segments) {
    auto window = FileWindow::open(disk, segment_path("/data/log", segment.number), OpenMode::read);
    REQUIRE(window.has_value());
    const auto header = read_segment_header(*window->view(0, kBlockBytes));
    REQUIRE(header.has_value());
    SegmentReader reader(*window, *header);
    for (;;) {
      const auto batch = reader.next();
      REQUIRE(batch.has_value());
      if (batch->finding != BatchFinding::valid) break;
      found.push_back(text(batch->whole.first(segment_format::kBatchHeaderBytes + batch->header.body_bytes)));
    }
  }
  return found;
}

std::vector<std::string> batches_read(LogReader& reader, Lsn from, Lsn through) {
  std::vector<std::string> found;
  for (Lsn next = from; next <= through;) {
    const auto batch = reader.batch_at(next);
    REQUIRE(said(batch) == "");
    CHECK(batch->header.first_lsn == next);
    found.push_back(text(batch->bytes));
    next = batch->header.last_lsn().next();
  }
  return found;
}

void write(LogDriver& driver, int batches) {
  for (int i = 0; i < batches; ++i) {
    REQUIRE(said(driver.write(8)) == "");
    REQUIRE(said(driver.tick()) == "");
  }
}

}  // namespace

TEST_CASE("log reader: each LSN is found in its batch, in memory or in its file, as recovery reads it") {
  SimulatedDisk disk;
  VirtualClock clock;
  for (const std::size_t kept : {std::size_t{0}, std::size_t{20'000}, std::size_t{10'000'000}}) {
    CAPTURE(kept);
    Fed fed(kept);
    LogDriver driver(disk, clock, kept + 1);
    driver.settings.feed = &fed;
    REQUIRE(said(driver.open()) == "");
    const Lsn first_here = driver.log->written_lsn().next();
    write(driver, 40);
    CHECK(fed.durable == driver.log->durable_lsn());
    CHECK(fed.recent.bytes() <= kept);
    LogReader reader(disk, "/data/log", driver.log->identity().id, fed.recent);
    REQUIRE(reader.oldest().value() == Lsn(1));
    const auto read = batches_read(reader, Lsn(1), fed.durable);
    REQUIRE(said(reader.refresh()) == "");
    CHECK(read == batches_on_disk(disk, reader.segments()));
    CHECK(read == batches_read(reader, Lsn(1), fed.durable));  // again, from the places that it remembers
    Dice dice(kept);
    for (int i = 0; i < 200; ++i) {
      const Lsn wanted(1 + dice.below(fed.durable.value()));
      const auto batch = reader.batch_at(wanted);
      REQUIRE(said(batch) == "");
      CHECK((batch->header.first_lsn <= wanted && wanted <= batch->header.last_lsn()));
    }
    CHECK((fed.recent.find(first_here) != nullptr) == (kept == 10'000'000));
    if (kept == 10'000'000) CHECK(fed.recent.find(Lsn(first_here.value() - 1)) == nullptr);
  }
}

TEST_CASE("log reader: it follows the log into segments that begin while it reads") {
  SimulatedDisk disk;
  VirtualClock clock;
  Fed fed(0);
  LogDriver driver(disk, clock, 3);
  driver.settings.feed = &fed;
  REQUIRE(said(driver.open()) == "");
  LogReader reader(disk, "/data/log", driver.log->identity().id, fed.recent);
  Lsn next(1);
  for (int i = 0; i < 60; ++i) {
    write(driver, 1);
    batches_read(reader, next, fed.durable);
    next = fed.durable.next();
  }
  CHECK(reader.segments().size() > 3);
}

TEST_CASE("log reader: what was removed is not found, and the log begins later") {
  SimulatedDisk disk;
  VirtualClock clock;
  Fed fed(0);
  LogDriver driver(disk, clock, 4);
  driver.settings.feed = &fed;
  REQUIRE(said(driver.open()) == "");
  write(driver, 60);
  LogReader reader(disk, "/data/log", driver.log->identity().id, fed.recent);
  REQUIRE(reader.oldest().value() == Lsn(1));
  REQUIRE(reader.segments().size() > 3);
  const SegmentSpan third = reader.segments()[2];
  for (const std::uint64_t number : {1U, 2U}) REQUIRE(said(disk.remove(segment_path("/data/log", number))) == "");
  const auto gone = reader.batch_at(Lsn(1));
  REQUIRE(!gone.has_value());
  CHECK(gone.error().code() == ErrorCode::not_found);
  CHECK(reader.oldest().value() == third.first_lsn);
  CHECK(!batches_read(reader, third.first_lsn, fed.durable).empty());
}

TEST_CASE("log reader: damage is an error that names file and offset") {
  SimulatedDisk disk;
  VirtualClock clock;
  Fed fed(0);
  LogDriver driver(disk, clock, 5);
  driver.settings.feed = &fed;
  REQUIRE(said(driver.open()) == "");
  write(driver, 4);
  const std::string path = segment_path("/data/log", 1);
  auto file = disk.open(path, OpenMode::write);
  REQUIRE(file.has_value());
  const std::array<std::byte, 1> wrong{std::byte{0xa5}};
  REQUIRE(said((*file)->write(kBlockBytes + 200, wrong)) == "");
  LogReader reader(disk, "/data/log", driver.log->identity().id, fed.recent);
  const auto read = reader.batch_at(Lsn(1));
  REQUIRE(!read.has_value());
  CHECK(read.error().code() == ErrorCode::damaged);
  CHECK(read.error().text() == "/data/log/segment-0000000001 at offset 4096: the batch's body is damaged");
}

TEST_CASE("recent batches: the newest that fit are there without a gap") {
  RecentBatches recent(1000);
  std::vector<std::byte> bytes(4096);
  const auto add = [&](std::uint64_t first, std::uint32_t count, std::uint32_t body) {
    BatchHeader header;
    header.first_lsn = Lsn(first);
    header.count = count;
    header.body_bytes = body;
    recent.add(bytes, header);
  };
  add(1, 10, 172);
  add(11, 5, 172);
  add(16, 1, 172);
  CHECK(recent.bytes() == 900);
  CHECK(recent.find(Lsn(10))->header.first_lsn == Lsn(1));
  CHECK(recent.find(Lsn(11))->records().size() == 172);
  CHECK(recent.find(Lsn(17)) == nullptr);
  add(17, 1, 172);  // the first one goes
  CHECK(recent.find(Lsn(10)) == nullptr);
  CHECK(recent.find(Lsn(11)) != nullptr);
  add(20, 1, 172);  // not the next one: those before it go
  CHECK(recent.find(Lsn(17)) == nullptr);
  CHECK(recent.find(Lsn(20)) != nullptr);
  add(21, 1, 2000);  // too long by itself
  CHECK(recent.find(Lsn(21)) == nullptr);
  add(22, 1, 100);
  CHECK(recent.find(Lsn(22)) != nullptr);
  CHECK(recent.find(Lsn(20)) == nullptr);
}

}  // namespace holdfast::test
