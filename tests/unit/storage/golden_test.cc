// A log of format 1 as it was written once: every later version must read the same from it.
// To write it anew (only while the format is not released): HOLDFAST_GOLDEN=tests/golden/log-v1 storage_tests -tc=golden*
#include "storage/log_inspect.h"
#include "tests/unit/storage/log_fixture.h"

#include "tests/doctest.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace holdfast::test {
namespace {

const std::string kDirectory = "/data/log";
const std::vector<std::string> kFiles = {"segment-0000000001", "segment-0000000002", "mark"};

std::string path_in(const std::string& directory, const std::string& name) {
  return fmt::format("{}/{}", directory, name);
}

std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  REQUIRE(in.good());
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void write_golden(const std::string& to) {
  SimulatedDisk disk;
  VirtualClock clock;
  for (std::uint64_t life = 1; life <= 2; ++life) {
    LogDriver driver(disk, clock, life);
    REQUIRE(said(driver.open()) == "");
    for (int batch = 0; batch < 4; ++batch) REQUIRE(said(driver.write(6)) == "");
    disk.kill_process();
  }
  for (const auto& name : kFiles) {
    auto bytes = disk.contents(path_in(kDirectory, name));
    while (bytes.size() >= kBlockBytes && bytes.back() == std::byte{0}) bytes.pop_back();
    bytes.resize((bytes.size() + kBlockBytes - 1) / kBlockBytes * kBlockBytes);
    std::ofstream out(path_in(to, name), std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
}

std::string dump(SimulatedDisk& disk) {
  DumpOptions options;
  options.directory = kDirectory;
  options.frames = true;
  std::string text;
  REQUIRE(said(dump_log(disk, options, [&](std::string_view line) { (text += line) += '\n'; })) == "");
  return text;
}

}  // namespace

TEST_CASE("golden: a log of format 1 is read as when it was written") {
  const std::string golden = HOLDFAST_GOLDEN_DIRECTORY;  // set by the build
  const char* const write_to = std::getenv("HOLDFAST_GOLDEN");
  if (write_to != nullptr) write_golden(write_to);
  SimulatedDisk disk;
  VirtualClock clock;
  REQUIRE(said(disk.make_directory(kDirectory)) == "");
  for (const auto& name : kFiles) {
    const auto bytes = read_file(path_in(write_to != nullptr ? write_to : golden, name));
    auto file = disk.open(path_in(kDirectory, name), OpenMode::create);
    REQUIRE(said(file) == "");
    REQUIRE(said((*file)->write(0, bytes)) == "");
  }
  const auto text = dump(disk);
  if (write_to != nullptr) std::ofstream(std::string(write_to) + "/records.txt") << text;
  const auto expected = read_file(golden + "/records.txt");
  CHECK(text == std::string(reinterpret_cast<const char*>(expected.data()), expected.size()));
  LogDriver driver(disk, clock, 3);
  REQUIRE(said(driver.open()) == "");
  CHECK(driver.log->incarnation() == 3);
  CHECK(driver.lines.size() > 40);
}

}  // namespace holdfast::test
