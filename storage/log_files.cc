#include "storage/log_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace holdfast {
namespace {

constexpr std::string_view kSegmentPrefix = "segment-";
constexpr std::string_view kSnapshotPrefix = "snapshot-";
constexpr std::string_view kTemporarySuffix = ".tmp";
constexpr std::string_view kBrokenSuffix = ".broken";
constexpr std::string_view kRepairPrefix = "before-repair-";
constexpr std::size_t kNumberDigits = 10;
constexpr std::size_t kLsnDigits = 20;

std::string in(const std::string& directory, std::string_view name) { return fmt::format("{}/{}", directory, name); }

/// The number behind the prefix, written with at least so many digits; 0 when the name is not so.
std::uint64_t number_in(std::string_view name, std::string_view prefix, std::size_t digits) {
  if (!name.starts_with(prefix) || name.size() < prefix.size() + digits) return 0;
  name.remove_prefix(prefix.size());
  std::uint64_t number = 0;
  const auto [end, ec] = std::from_chars(name.data(), name.data() + name.size(), number);
  return ec == std::errc() && end == name.data() + name.size() ? number : 0;
}

void sort_in(LogFiles& found, std::string name) {
  if (const auto number = number_in(name, kSegmentPrefix, kNumberDigits); number != 0) {
    found.segments.push_back(number);
  } else if (const auto lsn = number_in(name, kSnapshotPrefix, kLsnDigits); lsn != 0) {
    found.snapshots.emplace_back(lsn);
  } else if (name.ends_with(kTemporarySuffix)) {
    found.temporaries.push_back(std::move(name));
  } else if (name.ends_with(kBrokenSuffix)) {
    found.broken.push_back(std::move(name));
  } else if (name == "mark") {
    found.mark = true;
  } else if (name == "sinks") {
    found.sinks = true;
  } else if (name.starts_with(kRepairPrefix) && (name.ends_with(".out") || name.ends_with(".in"))) {
    found.unfinished_repair = true;
  } else if (name != "lock" && name != "lost+found" && found.other.empty()) {
    found.other = std::move(name);
  }
}

}  // namespace

std::string segment_path(const std::string& directory, std::uint64_t number) {
  return fmt::format("{}/{}{:0{}}", directory, kSegmentPrefix, number, kNumberDigits);
}
std::string snapshot_path(const std::string& directory, Lsn lsn) {
  return fmt::format("{}/{}{:0{}}", directory, kSnapshotPrefix, lsn.value(), kLsnDigits);
}
std::string mark_path(const std::string& directory) { return in(directory, "mark"); }
std::string sinks_path(const std::string& directory) { return in(directory, "sinks"); }
std::string lock_path(const std::string& directory) { return in(directory, "lock"); }
std::string broken_path(const std::string& directory, std::uint64_t number, std::uint64_t offset) {
  return fmt::format("{}-at-{}{}", segment_path(directory, number), offset, kBrokenSuffix);
}
std::string set_aside_path(const std::string& path) { return path + std::string(kBrokenSuffix); }
std::string temporary_path(const std::string& path) { return path + std::string(kTemporarySuffix); }

Result<LogFiles> look_at_directory(FileSystem& files, const std::string& directory) {
  LogFiles found;
  const auto there = files.exists(directory);
  if (!there) return there.error();
  found.directory_exists = *there;
  if (!found.directory_exists) return found;
  auto names = files.list(directory);
  if (!names) return names.error();
  for (auto& name : *names) sort_in(found, std::move(name));
  std::sort(found.segments.begin(), found.segments.end());
  std::sort(found.snapshots.begin(), found.snapshots.end());
  return found;
}

std::string parent_directory(const std::string& directory) {
  const auto end = directory.find_last_not_of('/');
  const auto slash = directory.find_last_of('/', end);
  if (end == std::string::npos || slash == 0) return "/";
  return slash == std::string::npos ? "." : directory.substr(0, slash);
}

}  // namespace holdfast
