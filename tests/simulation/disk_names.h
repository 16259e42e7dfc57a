// The directories of the simulated disk: what the running system sees, what is on the disk, and the changes in
// between that no sync_directory() covered yet. Files live apart from their names. One thread.
#pragma once

#include "storage/file_system.h"
#include "tests/simulation/crash_chooser.h"

#include <map>
#include <optional>

namespace holdfast::simulation {

/// Names a file whatever it is called; never used twice on one disk.
using InodeNumber = std::uint64_t;

/// The directory a path lies in: "." for a bare name, "/" for the root's children.
std::string parent_directory(const std::string& path);

class DiskNames {
 public:
  std::optional<InodeNumber> find(const std::string& path) const;
  /// REQUIRES: the name is free.
  void create(const std::string& path, InodeNumber inode);
  /// REQUIRES: `from` exists. Replaces `to`.
  void rename(const std::string& from, const std::string& to);
  /// REQUIRES: the name exists.
  void remove(const std::string& path);
  std::vector<std::string> list(const std::string& directory) const;

  /// Makes the changes in this directory durable, and with them what they rest on.
  void sync(const std::string& directory);
  /// Each pending change is kept or lost as the chooser says; what a kept one rests on (earlier changes of the
  /// same file) is kept too. So a rename leaves the old or the new name, never neither.
  void crash(CrashChooser& chooser);

  std::size_t pending() const noexcept { return pending_.size(); }
  /// Whether the file has a name now, on the disk, or in a change that may be kept.
  bool reachable(InodeNumber inode) const;
  /// 1 when the running system has a name for the file, else 0.
  std::uint64_t links(InodeNumber inode) const;

 private:
  struct Change {
    InodeNumber inode;
    std::string from;  // empty: a new name
    std::string to;    // empty: a removed name
  };
  using Names = std::map<std::string, InodeNumber, std::less<>>;

  static void apply(Names& names, const Change& change);
  void change(Change change);
  /// Applies the changes marked in `keep`, and those they rest on, to the durable names.
  std::vector<bool> settle(std::vector<bool> keep);

  Names current_;
  Names durable_;
  std::vector<Change> pending_;
};

}  // namespace holdfast::simulation
