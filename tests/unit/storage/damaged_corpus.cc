#include "tests/unit/storage/damaged_corpus.h"

#include "tests/doctest.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace holdfast::test {
namespace {

namespace fs = std::filesystem;

const std::string kDirectory = "/data/log";

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  REQUIRE(in.good());
  return {std::istreambuf_iterator<char>(in), {}};
}

void copy_to_disk(const fs::path& from, SimulatedDisk& disk) {
  const std::string text = read_file(from);
  auto file = disk.open(fmt::format("{}/{}", kDirectory, from.filename().string()), OpenMode::create);
  REQUIRE(said(file) == "");
  REQUIRE(said((*file)->write(0, std::as_bytes(std::span(text)))) == "");
}

std::string outcome_of(SimulatedDisk& disk) {
  VirtualClock clock;
  LogDriver driver(disk, clock, 99);
  const auto recovered = driver.recover();
  return recovered ? opens_with(driver) : said(recovered);
}

}  // namespace

const std::string& new_corpus() {
  static const std::string kFolder = std::getenv("HOLDFAST_CORPUS") != nullptr ? std::getenv("HOLDFAST_CORPUS") : "";
  return kFolder;
}

void keep_damaged(SimulatedDisk disk, const std::string& folder, std::string_view outcome) {
  disk.clear_faults();
  if (outcome_of(disk) != outcome) return;
  fs::create_directories(folder);
  for (const std::string& name : disk.names_in(kDirectory)) {
    if (name == "lock") continue;
    const auto bytes = disk.contents(fmt::format("{}/{}", kDirectory, name));
    std::ofstream(fs::path(folder) / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  std::ofstream(fs::path(folder) / "outcome.txt") << outcome << '\n';
}

void load_damaged(const std::string& folder, SimulatedDisk& disk) {
  REQUIRE(said(disk.make_directory(kDirectory)) == "");
  for (const auto& file : fs::directory_iterator(folder)) {
    if (file.path().filename() != "outcome.txt") copy_to_disk(file.path(), disk);
  }
}

std::string opens_with(const LogDriver& driver) {
  return fmt::format("opens: {} records, LSN {}", driver.lines.size(),
                     driver.lines.empty() ? 0 : driver.lines.rbegin()->first.value());
}

TEST_CASE("damaged corpus: each log opens with what it held, or is refused in the same words, as when it was kept") {
  int logs = 0;
  for (const auto& folder : fs::directory_iterator(HOLDFAST_DAMAGED_DIRECTORY)) {  // set by the build
    CAPTURE(folder.path().filename().string());
    SimulatedDisk disk;
    load_damaged(folder.path().string(), disk);
    CHECK(outcome_of(disk) + "\n" == read_file(folder.path() / "outcome.txt"));
    ++logs;
  }
  CHECK(logs == kRecoveryRows - 1);  // all but the row of a device that cannot read
}

}  // namespace holdfast::test
