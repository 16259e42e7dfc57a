// holdfast-undo: what a power cut would have left of files that a process wrote under libholdfast_shim.so
// before it was killed. Everything that was not durable is kept, undone, zeroed or garbled as the seed says;
// then the journal is emptied, and what is left counts as durable.
//
//   holdfast-undo --root DIR --side DIR --seed N [--manner random|lost|kept] [--garble] [--dry-run]
//
// Prints one line: how many sectors, sizes and names were open, and how many sectors were changed.
#include "tests/shim/undo_names.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

using namespace holdfast;
using namespace holdfast::shim;
using simulation::ChoicePoint;
using simulation::SectorFate;

namespace {

struct Options {
  std::string root;
  std::string side;
  std::string manner = "random";
  std::uint64_t seed = 0;
  bool garble = false;
  bool dry_run = false;
};

struct Tally {
  std::size_t sectors_open = 0;
  std::size_t sectors_changed = 0;
  std::size_t sizes_open = 0;
  std::size_t names_open = 0;
};

Options parse(int count, char** words) {
  Options options;
  for (int at = 1; at < count; ++at) {
    const std::string_view word = words[at];
    if (word == "--garble")
      options.garble = true;
    else if (word == "--dry-run")
      options.dry_run = true;
    else if (at + 1 == count)
      give_up(word, "unknown option, or its value is missing");
    else if (word == "--root")
      options.root = std::filesystem::weakly_canonical(words[++at]).string();
    else if (word == "--side")
      options.side = words[++at];
    else if (word == "--manner")
      options.manner = words[++at];
    else if (word == "--seed")
      options.seed = std::strtoull(words[++at], nullptr, 10);
    else
      give_up(word, "unknown option");
  }
  if (options.root.empty() || options.side.empty()) give_up("options", "--root and --side are needed");
  return options;
}

std::unique_ptr<simulation::CrashChooser> make_chooser(const Options& options) {
  if (options.manner == "lost") return std::make_unique<simulation::FixedCrash>(SectorFate::lost);
  if (options.manner == "kept") return std::make_unique<simulation::FixedCrash>(SectorFate::kept);
  if (options.manner != "random") give_up(options.manner, "unknown manner");
  return std::make_unique<simulation::RandomCrash>(options.seed, options.garble);
}

std::string garbage(std::uint64_t seed) {
  std::array<std::uint8_t, kSectorBytes> noise;
  simulation::Dice(seed).fill(noise);
  return {noise.begin(), noise.end()};
}

std::vector<SectorVersion> newest_first(const std::vector<SectorVersion>& versions) {
  return {versions.rbegin(), versions.rend()};
}

/// Decides on one sector: kept; or one of its older contents, each `lost` going one write further back; or
/// spoiled. Empty: leave it.
std::string decide(std::uint64_t sector, const std::vector<SectorVersion>& versions,
                   simulation::CrashChooser& chooser) {
  std::string content;
  for (const SectorVersion& version : newest_first(versions)) {
    if (version.failed) {  // the page was marked clean: no later write-back brings it to the disk
      content = content_of(version, sector);
      continue;
    }
    switch (static_cast<SectorFate>(chooser.choose(ChoicePoint::sector, simulation::kSectorFates))) {
      case SectorFate::kept:
        return content;
      case SectorFate::lost:
        content = content_of(version, sector);
        break;
      case SectorFate::zeroed:
        return std::string(kSectorBytes, '\0');
      case SectorFate::garbled:
        return garbage(chooser.garbage_seed());
    }
  }
  return content;
}

void undo_file(const std::string& path, const PendingFile& file, simulation::CrashChooser& chooser, Tally& tally) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct stat status {};
  if (fd < 0 || ::fstat(fd, &status) != 0) give_up(path, std::strerror(errno));
  off_t size = status.st_size;
  if (!file.old_sizes.empty()) {
    const auto chosen = chooser.choose(ChoicePoint::size, static_cast<std::uint32_t>(file.old_sizes.size() + 1));
    if (chosen < file.old_sizes.size()) size = static_cast<off_t>(file.old_sizes[chosen]);
    ++tally.sizes_open;
  }
  for (const auto& [sector, versions] : file.sectors) {
    const std::string content = decide(sector, versions, chooser);
    ++tally.sectors_open;
    if (content.empty()) continue;
    ++tally.sectors_changed;
    const auto wrote = ::pwrite(fd, content.data(), content.size(), static_cast<off_t>(sector * kSectorBytes));
    if (wrote != static_cast<ssize_t>(content.size())) give_up(path, std::strerror(errno));
  }
  if (::ftruncate(fd, size) != 0) give_up(path, std::strerror(errno));
  ::close(fd);
}

/// The side folder as it was before the first process; counters stay.
void clean(const std::string& side) {
  std::filesystem::remove(side + "/journal");
  for (const auto& entry : std::filesystem::directory_iterator(side)) {
    if (entry.path().filename().string().starts_with("saved-")) std::filesystem::remove(entry.path());
  }
}

/// A path for each inode that still has one, the side folder's links included.
std::map<std::uint64_t, std::string> find_inodes(const Options& options) {
  std::map<std::uint64_t, std::string> inodes;
  for (const std::string& folder : {options.side, options.root}) {
    for (const auto& [path, inode] : names_below(folder)) inodes[inode] = path;
  }
  return inodes;
}

}  // namespace

int main(int count, char** words) {
  const Options options = parse(count, words);
  const auto chooser = make_chooser(options);
  const auto records = read_journal(options.side + "/journal");
  const PendingState pending = find_pending(records);
  Tally tally;
  if (options.dry_run) {
    for (const auto& [inode, file] : pending.files) tally.sectors_open += file.sectors.size();
    tally.names_open = pending.names.size();
  } else if (std::filesystem::exists(options.root)) {
    const auto inodes = find_inodes(options);
    for (const auto& [inode, file] : pending.files) {
      const auto found = inodes.find(inode);
      if (found != inodes.end()) undo_file(found->second, file, *chooser, tally);
    }
    tally.names_open = undo_names(options.root, pending.names, *chooser);
    clean(options.side);
  }
  std::printf("records %zu, open: %zu sectors, %zu sizes, %zu names; changed: %zu sectors\n", records.size(),
              tally.sectors_open, tally.sizes_open, tally.names_open, tally.sectors_changed);
  return 0;
}
