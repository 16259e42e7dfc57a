// Keeps a copy of what recovery drops from the end of the log, before a new segment says that the old one ends earlier.
// The old file stays as it is. One thread.
#pragma once

#include "storage/log_files.h"
#include "storage/recovery_tail.h"

namespace holdfast {

/// Copies the dropped bytes, if any, durably to segment-N-at-OFFSET.broken; may be repeated. Of these copies the newest
/// kBrokenCopiesMax are kept. `found`: the directory as recovery saw it.
Result<void> keep_broken_copy(FileSystem& files, const std::string& directory, std::uint64_t segment,
                              const TailDecision& tail, const LogFiles& found);

}  // namespace holdfast
