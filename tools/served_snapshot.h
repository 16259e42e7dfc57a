// A server's newest snapshot, fetched into a temporary folder that goes with this. One thread.
#pragma once

#include "storage/posix_file_system.h"
#include "storage/snapshot_reader.h"
#include "tools/log_client.h"

#include <chrono>
#include <functional>
#include <memory>

namespace holdfast {

class ServedSnapshot {
 public:
  /// `log` has been looked at, and outlives this.
  explicit ServedSnapshot(LogClient& log);
  ~ServedSnapshot();

  using Progress = std::function<void(std::uint64_t bytes)>;
  /// Fetches it; its sums hold. Called once. Errors: io_failed or no_space for the temporary folder ($TMPDIR, else /tmp), those of
  /// LogClient::read_snapshot and SnapshotReader::verify.
  Result<SnapshotReader> fetch(const Progress& progress);
  /// To be called often while it is used: so that the server keeps the log that follows it.
  Result<void> hold();

 private:
  class Folder;

  LogClient& log_;
  PosixFileSystem files_;
  std::unique_ptr<Folder> folder_;
  Lsn lsn_;
  std::chrono::steady_clock::time_point held_at_{};
};

}  // namespace holdfast
