#include "tests/unit/simulation/simulated_disk_fixture.h"

using namespace holdfast;
using namespace holdfast::simulation;
using namespace std::chrono_literals;
using Ints = std::vector<int>;

namespace {

/// What a read of the first block's first byte gives.
int first_byte(SimulatedDisk& disk, OpenMode mode) {
  std::byte byte{};
  REQUIRE(must_open(disk, "d/a", mode)->read(0, {&byte, 1}).value() == 1);
  return std::to_integer<int>(byte);
}

}  // namespace

TEST_CASE("simulated_disk: opening follows the mode") {
  SimulatedDisk disk;
  REQUIRE(disk.make_directory("d").has_value());
  CHECK(disk.open("d/a", OpenMode::read).error().code() == ErrorCode::not_found);
  CHECK(disk.open("e/a", OpenMode::create).error().code() == ErrorCode::not_found);
  must_open(disk, "d/a", OpenMode::create);
  CHECK(disk.open("d/a", OpenMode::create).error().code() == ErrorCode::io_failed);
  must_open(disk, "d/a", OpenMode::write);
  CHECK(disk.list("d").value() == std::vector<std::string>{"a"});
  CHECK(disk.exists("d/a").value());
}

TEST_CASE("simulated_disk: an unlinked open file lives on, without a name") {
  SimulatedDisk disk;
  prepare(disk, "d/a", 1);
  const auto file = must_open(disk, "d/a", OpenMode::write);
  const auto before = disk.identity("d/a").value();
  CHECK(file->identity().value() == before);
  REQUIRE(disk.remove("d/a").has_value());
  REQUIRE(disk.sync_directory("d").has_value());
  CHECK(file->identity().value().links == 0);
  CHECK(file->size().value() == 4096);
}

TEST_CASE("simulated_disk: one owner a lock, until it goes or the process ends") {
  SimulatedDisk disk;
  REQUIRE(disk.make_directory("d").has_value());
  auto lock = disk.lock("d/lock");
  REQUIRE(lock.has_value());
  CHECK(disk.lock("d/lock").error().code() == ErrorCode::locked);
  lock->reset();
  auto second = disk.lock("d/lock");
  REQUIRE(second.has_value());
  disk.kill_process();
  CHECK(disk.lock("d/lock").has_value());
}

TEST_CASE("simulated_disk: SIGKILL keeps the page cache and what is pending") {
  SimulatedDisk disk;
  prepare(disk, "d/a", 1);
  REQUIRE(must_open(disk, "d/a", OpenMode::write)->write(0, Blocks(1, 5)).has_value());
  disk.kill_process();
  CHECK(disk.pending_sectors() == 8);
  CHECK(sectors(disk, "d/a") == Ints(8, 5));
}

TEST_CASE("simulated_disk: a failed flush is reported once and shows new, old or mixed content") {
  for (const auto behaviour : {FlushFailure::keeps_new, FlushFailure::reverts_to_old, FlushFailure::mixed}) {
    std::map<int, int> shown;
    std::map<int, int> on_disk;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      SimulatedDisk disk(seed);
      prepare(disk, "d/a", 1);
      disk.set_flush_failure(behaviour);
      disk.plan({.call = IoCall::sync, .path_part = {}});
      const auto file = must_open(disk, "d/a", OpenMode::write);
      REQUIRE(file->write(0, Blocks(1, 5)).has_value());
      CHECK(file->sync().error().code() == ErrorCode::io_failed);
      CHECK(file->sync().has_value());  // "clean", so nothing to report
      ++shown[first_byte(disk, OpenMode::read)];
      ++on_disk[first_byte(disk, OpenMode::read_suspicious)];
      disk.crash(seed);
      CHECK(first_byte(disk, OpenMode::read) == first_byte(disk, OpenMode::read_suspicious));
    }
    CHECK(on_disk[0] > 20);
    CHECK((shown[5] == 40) == (behaviour == FlushFailure::keeps_new));
    CHECK((shown[0] == on_disk[0]) == (behaviour == FlushFailure::reverts_to_old));
  }
}

TEST_CASE("simulated_disk: a failed write leaves a part, a failed durable one leaves nobody knows what") {
  SimulatedDisk disk(3);
  prepare(disk, "d/a", 4);
  disk.plan({.call = IoCall::write_durable, .path_part = {}, .error = ErrorCode::no_space});
  const auto file = must_open(disk, "d/a", OpenMode::for_durable_writes);
  CHECK(file->write_durable(0, Blocks(4, 5)).error().code() == ErrorCode::no_space);
  CHECK(disk.pending_sectors() == 0);
  CHECK(file->write_durable(0, Blocks(4, 6)).has_value());
  disk.crash(9);
  CHECK(sectors(disk, "d/a") == Ints(32, 6));
}

TEST_CASE("simulated_disk: a failed durable write leaves no sector half written") {
  int parts = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SimulatedDisk disk(seed);
    prepare(disk, "d/a", 1);
    disk.plan({.call = IoCall::write_durable, .path_part = {}});
    const auto file = must_open(disk, "d/a", OpenMode::for_durable_writes);
    REQUIRE_FALSE(file->write_durable(0, Blocks(1, 5)).has_value());
    std::array<std::byte, kSectorBytes> sector;
    std::size_t written = 0;
    for (std::uint64_t at = 0; at < kBlockBytes; at += kSectorBytes) {
      REQUIRE(file->read(at, sector).has_value());
      CHECK(std::equal(sector.begin() + 1, sector.end(), sector.begin()));
      if (sector[0] == std::byte(5)) ++written;
    }
    if (written > 0 && written < kBlockBytes / kSectorBytes) ++parts;
  }
  CHECK(parts > 20);
}

TEST_CASE("simulated_disk: a full disk says so and takes writes again when space is back") {
  SimulatedDisk disk;
  disk.set_capacity_bytes(10 * 4096);
  prepare(disk, "d/a", 4);
  CHECK(disk.free_bytes("d").value() == 6 * 4096);
  const auto file = must_open(disk, "d/b", OpenMode::create);
  CHECK(file->write(0, Blocks(7, 1)).error().code() == ErrorCode::no_space);
  CHECK(file->write(0, Blocks(6, 1)).has_value());
  CHECK(disk.free_bytes("d").value() == 0);
  REQUIRE(disk.remove("d/a").has_value());
  CHECK(file->write(0, Blocks(10, 1)).has_value());
}

TEST_CASE("simulated_disk: damage is shown by reads and kept apart from the truth") {
  SimulatedDisk disk;
  prepare(disk, "d/a", 2);
  disk.file("d/a").flip_bit(4096, 3);
  CHECK(sectors(disk, "d/a")[8] == 8);
  CHECK(disk.file("d/a").pristine().page(1) == nullptr);
  disk.file("d/a").truncate_behind(512);
  CHECK(disk.contents("d/a").size() == 512);
  disk.crash(1);
  CHECK(disk.contents("d/a").size() == 512);
  disk.file("d/a").heal();
  CHECK(sectors(disk, "d/a") == Ints(16, 0));
}

TEST_CASE("simulated_disk: lost and misdirected writes report success") {
  for (const bool misdirected : {false, true}) {
    SimulatedDisk disk;
    prepare(disk, "d/a", 3);
    disk.plan({.kind = misdirected ? FaultKind::misdirect_write : FaultKind::lose_write,
               .call = IoCall::write_durable,
               .path_part = {},
               .misdirect_bytes = 4096});
    const auto file = must_open(disk, "d/a", OpenMode::for_durable_writes);
    CHECK(file->write_durable(4096, Blocks(1, 5)).has_value());
    disk.crash(1);
    Ints want(24, 0);
    if (misdirected) std::fill_n(want.begin() + 16, 8, 5);
    CHECK(sectors(disk, "d/a") == want);
    disk.file("d/a").heal();
    CHECK(sectors(disk, "d/a")[8] == 5);
  }
}

TEST_CASE("simulated_disk: calls take virtual time") {
  SimulatedDisk disk;
  VirtualClock clock;
  prepare(disk, "d/a", 1);
  disk.set_latency(clock, IoCall::sync, 2ms);
  disk.plan({.kind = FaultKind::delay, .call = IoCall::sync, .path_part = {}, .nth = 2, .delay = 60s});
  const auto start = clock.read().boot;
  const auto file = must_open(disk, "d/a", OpenMode::write);
  REQUIRE(file->sync().has_value());
  CHECK(clock.read().boot - start == 2ms);
  REQUIRE(file->sync().has_value());
  CHECK(clock.read().boot - start == 60s + 4ms);
}
