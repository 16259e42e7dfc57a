// What a journal says is not yet durable: for each file the sectors with the contents they may fall back to,
// the sizes, and the changes of names. One thread.
#pragma once

#include "tests/shim/journal.h"

#include <map>

namespace holdfast::shim {

/// What a sector was before one of the writes that are not durable; `failed`: a flush of that write failed.
struct SectorVersion {
  const JournalRecord* before;
  bool failed;
};

struct PendingFile {
  std::map<std::uint64_t, std::vector<SectorVersion>> sectors;  // oldest first
  std::vector<std::uint64_t> old_sizes;                         // oldest first
};

struct PendingState {
  std::map<std::uint64_t, PendingFile> files;  // by inode
  std::vector<const JournalRecord*> names;     // create, rename, remove
};

/// REQUIRES: the records outlive the result.
PendingState find_pending(const std::vector<JournalRecord>& records);

/// The sector as the version remembers it.
std::string content_of(const SectorVersion& version, std::uint64_t sector);

/// Puts the sectors whose newest write failed to be flushed back to what the disk has. Whether there were any.
bool revert_failed(int fd, const PendingFile& file);

/// The directory of a path, which must have one.
std::string directory_of(const std::string& path);

}  // namespace holdfast::shim
