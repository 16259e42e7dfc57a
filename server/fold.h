// Making a snapshot from the last one and the log behind it, by the same code that a start uses. Reads the log beside the
// server that writes it, and writes one file. Deterministic over FileSystem: a process of its own runs it
// (fold_process.h). One thread.
#pragma once

#include "server/inventory.h"
#include "storage/file_system.h"
#include "storage/snapshot.h"

#include <functional>

namespace holdfast {

struct FoldReport {
  Lsn lsn;  // of the snapshot that was made, or is there already
  std::uint64_t bytes = 0;
  std::uint64_t records = 0;  // that were applied
  SnapshotTotals totals;
};

/// Publishes the snapshot of the last batch that ends with `through` or before. Whoever calls has made sure that this is
/// durable, and that no segment or snapshot is removed meanwhile. Errors: not_found, damaged, foreign, unsupported,
/// io_failed, no_space; nothing but a temporary file is then left behind.
Result<FoldReport> fold_log(FileSystem& files, const std::string& directory, Lsn through);

}  // namespace holdfast
