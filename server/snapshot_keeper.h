// The thread that makes snapshots and removes what they replace. A shell: the schedule says when, another process folds
// (fold_process.h), and storage/log_cleaner.h knows what may go. The hot path never waits for it.
#pragma once

#include "server/snapshot_board.h"
#include "server/snapshot_schedule.h"
#include "storage/log_recovery.h"
#include "storage/log_retention.h"
#include "storage/log_thread.h"

#include <functional>
#include <memory>

namespace holdfast {

class SnapshotKeeper {
 public:
  struct Settings {
    std::string directory;
    SnapshotSchedule::Limits limits;
    std::uint64_t memory_bytes = 0;  // that a fold may have; 0: twice what the server has, and 256 MiB
    RetentionRules rules;
    /// What else than snapshots keeps the log, and which snapshot somebody reads; none: none.
    std::function<RetentionHolds()> holds;
    std::function<std::optional<Lsn>()> snapshot_hold;
    /// Is told what the older and the newest of two snapshots have; zero for one that is not there.
    std::function<void(Lsn older, Lsn newest)> covered;
    /// One line for the operator.
    std::function<void(std::string_view)> say;
  };

  /// Starts the thread. `restored`, `replayed`: what the start found. Everything given outlives this.
  SnapshotKeeper(FileSystem& files, Clock& clock, LogThread& log, SnapshotBoard& board, const Settings& settings,
                 const RestoredSnapshot& restored, const RecoveredLog& replayed);
  /// Ends a fold that is under way, and the thread.
  ~SnapshotKeeper();
  SnapshotKeeper(const SnapshotKeeper&) = delete;
  SnapshotKeeper& operator=(const SnapshotKeeper&) = delete;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast
