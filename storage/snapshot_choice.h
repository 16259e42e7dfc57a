// Which snapshot a start begins with. Reads only. One thread.
#pragma once

#include "storage/log_files.h"
#include "storage/log_identity.h"
#include "storage/snapshot_reader.h"

#include <optional>

namespace holdfast {

/// What the segments say, for holding snapshots against it.
struct LogExtent {
  std::string directory;
  LogIdentity log;
  Lsn first;  // the LSN with which the first segment begins
};

/// The newest of these snapshots whose every byte is sound; nothing when there are none. Each damaged one before it is told
/// to `notice`, a line. Refusals: bad_snapshot, when none is sound; foreign_file, when one is of another log or name;
/// missing_file, when the log does not go on where the snapshot, or with none an empty log, ends; read_failed.
Result<std::optional<SnapshotReader>> choose_snapshot(FileSystem& files, const LogExtent& log,
                                                      const std::vector<Lsn>& snapshots,
                                                      const std::function<void(std::string_view)>& notice,
                                                      const SnapshotReader::Progress& progress = {});

}  // namespace holdfast
