// The snapshots in a data directory as bytes for a sink that begins, and which of them somebody is reading. Knows of what
// is in one only where the log's secret stands, which is served as zeros. Deterministic over
// FileSystem; one thread.
#pragma once

#include "protocol/types.h"
#include "storage/file_system.h"

#include <map>
#include <optional>
#include <string>

namespace holdfast {

class SnapshotFiles {
 public:
  struct Part {
    Lsn lsn;  // of the snapshot: everything up to here is in it
    std::uint64_t total_bytes = 0;
    std::string bytes;
  };

  SnapshotFiles(FileSystem& files, std::string directory) : files_(files), directory_(std::move(directory)) {}

  /// Bytes of a snapshot from an offset on, at most so many; none at its end. Without an LSN: of the newest. From now on
  /// the snapshot is held for kSnapshotHold. Errors: log_gone, err (an offset behind the end), not_found (it went just
  /// now), io_failed.
  Result<Part> read(std::optional<Lsn> lsn, std::uint64_t offset, std::size_t bytes_max, Millis now);

  /// The lowest snapshot that is held: it, and the log after it, have to stay. Nothing: none.
  std::optional<Lsn> hold(Millis now);
  /// When the hold changes by itself; the maximum for never.
  Millis due() const noexcept;

 private:
  Result<Lsn> choose(std::optional<Lsn> lsn) const;

  FileSystem& files_;
  std::string directory_;
  std::map<Lsn, Millis> held_until_;
};

}  // namespace holdfast
