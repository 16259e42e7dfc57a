// Gives a fork what a data directory, or a backup, holds. Reads only. One thread.
#pragma once

#include "storage/log_fork.h"

#include <functional>

namespace holdfast {

/// Where a copy begins, and which log it is of.
struct CopySource {
  LogIdentity identity;
  Lsn first;                         // where its segments begin
  std::optional<ClockPoint> clocks;  // of its mark
};

/// Errors: not_found where there is no log; what is wrong with the first segment's header.
Result<CopySource> look_at_source(FileSystem& files, const std::string& directory);

class LogWalk;
/// The path of the oldest snapshot whose every byte is sound and from which a log that does not begin with LSN 1 leads on.
/// Errors: damaged, saying why there is none.
Result<std::string> find_base_snapshot(FileSystem& files, const std::string& directory, const LogWalk& walk);

/// Drives the fork with the whole log, or, where segments are gone, with the oldest snapshot from which the log leads on,
/// and the log behind it; until the fork wants no more. `progress` is told LSNs. Errors: not_found, damaged, foreign,
/// unsupported, io_failed, each naming the file; the fork's own.
Result<void> copy_log(FileSystem& files, const std::string& directory, LogFork& fork,
                      const std::function<void(Lsn)>& progress = {});

}  // namespace holdfast
