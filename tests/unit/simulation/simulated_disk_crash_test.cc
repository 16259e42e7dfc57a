#include "tests/unit/simulation/simulated_disk_fixture.h"

#include <chrono>

using namespace holdfast;
using namespace holdfast::simulation;
using Ints = std::vector<int>;

namespace {

/// A small log's life: prepare a segment under another name, rename, write batches. Counts the durable ones.
void run_history(SimulatedDisk& disk, int& batches_durable) {
  if (!disk.make_directory("log")) return;
  auto made = disk.open("log/1.tmp", OpenMode::create);
  if (!made || !(*made)->write(0, Blocks(16, 0)) || !(*made)->sync()) return;
  if (!disk.rename("log/1.tmp", "log/1") || !disk.sync_directory("log")) return;
  auto live = disk.open("log/1", OpenMode::for_durable_writes);
  for (int batch = 0; live && batch < 8; ++batch) {
    const Blocks bytes(1, batch + 1);
    if (!(*live)->write_durable(static_cast<std::uint64_t>(batch) * kBlockBytes, bytes)) return;
    ++batches_durable;
  }
}

/// Crashes in the n-th call; how many batches were durable before. False when the history ended first.
bool crash_in(SimulatedDisk& disk, std::uint64_t nth, int& batches_durable) {
  disk.crash_at(nth);
  try {
    run_history(disk, batches_durable);
  } catch (const SimulatedCrash&) {
    return true;
  }
  return false;
}

void check_durable(SimulatedDisk& disk, int batches) {
  if (batches == 0) return;
  const Ints found = sectors(disk, "log/1");
  REQUIRE(found.size() == 128);
  for (int batch = 0; batch < batches; ++batch) {
    for (int sector = 0; sector < 8; ++sector) {
      CHECK(found[static_cast<std::size_t>(batch * 8 + sector)] == batch + 1);
    }
  }
}

}  // namespace

TEST_CASE("simulated_disk: what a call made durable survives a crash in every later call, whatever the fates") {
  std::uint64_t nth = 1;
  for (int batches = 0;; ++nth, batches = 0) {
    SimulatedDisk disk;
    if (!crash_in(disk, nth, batches)) break;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      SimulatedDisk copy = disk;
      copy.crash(seed);
      check_durable(copy, batches);
    }
  }
  CHECK(nth > 14);
}

TEST_CASE("simulated_disk: the write in flight is torn in every way") {
  SimulatedDisk disk;
  prepare(disk, "d/a", 1);
  disk.plan({.kind = FaultKind::crash, .call = IoCall::write_durable, .path_part = {}});
  const auto file = must_open(disk, "d/a", OpenMode::for_durable_writes);
  CHECK_THROWS_AS((void)file->write_durable(0, Blocks(1, 5)), SimulatedCrash);
  CHECK(file->sync().error().text() == "sync d/a: the power is off");
  std::map<Ints, int> outcomes;
  EveryCrash chooser(2);
  do {
    SimulatedDisk copy = disk;
    copy.crash(chooser);
    ++outcomes[sectors(copy, "d/a")];
  } while (chooser.next());
  CHECK(outcomes.size() == 256);
}

TEST_CASE("simulated_disk: a sector written twice may hold the first write, the second or neither") {
  std::map<int, int> seen;
  EveryCrash chooser(2);
  SimulatedDisk disk;
  prepare(disk, "d/a", 1);
  const auto file = must_open(disk, "d/a", OpenMode::write);
  const std::array one{std::byte(1)};
  const std::array two{std::byte(2)};
  REQUIRE(file->write(0, one).has_value());
  REQUIRE(file->write(0, two).has_value());
  do {
    SimulatedDisk copy = disk;
    copy.crash(chooser);
    ++seen[sectors(copy, "d/a")[0]];
  } while (chooser.next());
  CHECK(seen == std::map<int, int>{{0, 1}, {1, 1}, {2, 2}});
}

TEST_CASE("simulated_disk: a growing file may end at any of its sizes, before or after its data") {
  std::map<std::size_t, int> sizes;
  int zeros_inside = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SimulatedDisk disk;
    prepare(disk, "d/a", 0);
    const auto file = must_open(disk, "d/a", OpenMode::write);
    for (std::uint64_t block = 0; block < 3; ++block) REQUIRE(file->write(block * 4096, Blocks(1, 7)).has_value());
    disk.crash(seed);
    const Ints found = sectors(disk, "d/a");
    ++sizes[found.size()];
    zeros_inside += std::count(found.begin(), found.end(), 0) > 0;
  }
  CHECK(sizes.size() == 4);
  CHECK(zeros_inside > 50);
}

TEST_CASE("simulated_disk: a garbled sector holds bytes that nobody wrote, the same for the same seed") {
  SimulatedDisk disk;
  prepare(disk, "d/a", 1);
  REQUIRE(must_open(disk, "d/a", OpenMode::write)->write(0, Blocks(1, 5)).has_value());
  SimulatedDisk one = disk;
  SimulatedDisk other = disk;
  FixedCrash garbled(SectorFate::garbled);
  one.crash(garbled);
  other.crash(garbled);
  CHECK(one.contents("d/a") == other.contents("d/a"));
  CHECK(one.contents("d/a") != disk.contents("d/a"));
}

TEST_CASE("simulated_disk: an unsynced rename of a synced file leaves the file under one of its names") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SimulatedDisk disk;
    prepare(disk, "d/a.tmp", 1);
    REQUIRE(disk.rename("d/a.tmp", "d/a").has_value());
    disk.crash(seed);
    CHECK(disk.names_in("d").size() == 1);
  }
}

TEST_CASE("simulated_disk: same calls and seeds, same bytes; and a hundred thousand crashes a minute leave room") {
  constexpr std::uint64_t kCycles = 2000;
  const auto start = std::chrono::steady_clock::now();
  std::array<std::uint64_t, 2> sums{};
  for (auto& sum : sums) {
    for (std::uint64_t seed = 0; seed < kCycles; ++seed) {
      SimulatedDisk disk(seed);
      int batches = 0;
      crash_in(disk, 1 + seed % 14, batches);
      disk.crash(seed);
      for (const std::string& name : disk.names_in("log")) {
        for (const std::byte byte : disk.contents("log/" + name)) sum = sum * 31 + std::to_integer<unsigned>(byte);
      }
    }
  }
  CHECK(sums[0] == sums[1]);
  const std::chrono::duration<double, std::micro> each = (std::chrono::steady_clock::now() - start) / (2 * kCycles);
  MESSAGE("one cycle: " << each.count() << " us");
}
