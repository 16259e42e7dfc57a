// A data directory of format 1 as it was written once, with two snapshots and without the segments that both have: every
// later version must start from it with the same state. To write it anew (only while the format is not released):
//   HOLDFAST_GOLDEN=tests/golden/data-v1 golden_data_test
#include "server/fold.h"
#include "storage/log_cleaner.h"
#include "tests/unit/server/fold_world.h"

#include <fmt/format.h>

#include "tests/doctest.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace holdfast;
using namespace holdfast::testing;

namespace {

namespace fs = std::filesystem;

constexpr const char* kStateFile = "state.txt";

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  REQUIRE(in.good());
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string show(const Started& started) {
  std::string text = fmt::format("snapshot of LSN {}, log up to {}\n", started.from.value(), started.last.value());
  for (const auto& [name, lines] : started.items) {
    text += fmt::format("item {}\n", name);
    for (const std::string& line : lines) text += fmt::format("  {}\n", line);
  }
  return text;
}

void write_golden(const fs::path& to) {
  Lsn durable;
  SimulatedDisk disk = small_log(durable);
  for (const std::uint64_t part : {4U, 6U}) {
    REQUIRE(said(fold_log(disk, kLogDirectory, Lsn(durable.value() * part / 8))) == "");
  }
  LogCleaner cleaner(disk, kLogDirectory);
  REQUIRE(said(cleaner.look()) == "");
  REQUIRE(cleaner.remove_segments(cleaner.covered()).value() > 0);
  fs::create_directories(to);
  for (const std::string& name : disk.names_in(kLogDirectory)) {
    if (name == "lock") continue;
    const auto bytes = disk.contents(fmt::format("{}/{}", kLogDirectory, name));
    std::ofstream(to / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  std::ofstream(to / kStateFile) << show(start(disk, 1));
}

SimulatedDisk load(const fs::path& from) {
  SimulatedDisk disk;
  REQUIRE(said(disk.make_directory(kLogDirectory)) == "");
  for (const auto& entry : fs::directory_iterator(from)) {
    const std::string name = entry.path().filename().string();
    if (name == kStateFile) continue;
    const std::string bytes = read_file(entry.path());
    auto file = disk.open(fmt::format("{}/{}", kLogDirectory, name), OpenMode::create);
    REQUIRE(said(file) == "");
    REQUIRE(said((*file)->write(0, std::as_bytes(std::span(bytes)))) == "");
    REQUIRE(said((*file)->sync()) == "");
  }
  REQUIRE(said(disk.sync_directory(kLogDirectory)) == "");
  return disk;
}

}  // namespace

TEST_CASE("golden data: a directory of format 1 with snapshots is read as when it was written") {
  const char* const write_to = std::getenv("HOLDFAST_GOLDEN");
  if (write_to != nullptr) write_golden(write_to);
  const fs::path golden = write_to != nullptr ? write_to : HOLDFAST_GOLDEN_DATA;  // set by the build
  const std::string state = read_file(golden / kStateFile);
  for (std::uint16_t shards = 1; shards <= 4; ++shards) {
    CAPTURE(shards);
    SimulatedDisk disk = load(golden);
    const Started started = start(disk, shards);
    REQUIRE(started.refusal == "");
    CHECK(show(started) == state);
  }
}
