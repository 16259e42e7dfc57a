// First half of opening a log: takes the lock, decides whether the directory may be used, and replays what is durable.
//
// Changes no byte of an existing log; all that is written comes with Log::start. Restartable: a crash at any instruction
// and another run give the same result. One thread.
#pragma once

#include "storage/clock.h"
#include "storage/file_system.h"
#include "storage/hold_clock.h"
#include "storage/limits.h"
#include "storage/log_identity.h"
#include "storage/record.h"
#include "storage/snapshot.h"
#include "storage/state_hash.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace holdfast {

class LogFeed;

enum class FsyncPolicy : std::uint8_t { always, everysec, never };

struct LogSettings {
  std::string directory;
  std::uint64_t segment_bytes = kSegmentBytesDefault;
  FsyncPolicy fsync = FsyncPolicy::always;
  /// Refuse a missing or empty directory instead of starting a new log in it.
  bool require_data = false;
  Millis downtime_max = kDowntimeMaxDefault;
  /// The highest LSN that anything but log, mark and snapshots proves to be durable: sinks' acknowledgements.
  Lsn floor;
  /// The log of which it proves it; zeros: whichever this is.
  LogId floor_log{};
  /// Takes one line for the operator: warnings at start, alarms raised and cleared. Log thread. May be empty.
  std::function<void(std::string_view)> notice;
  /// Hears of every batch that is written; outlives the log. May be nothing.
  LogFeed* feed = nullptr;
};

/// How far reading snapshot and log is.
struct RecoveryProgress {
  std::uint64_t bytes_done = 0;
  std::uint64_t bytes_total = 0;
  Lsn lsn;
};

enum class RecoveryRow : std::uint8_t;

/// What a start begins with.
struct RestoredSnapshot {
  Lsn lsn;  // none: there is no snapshot, and the log begins with LSN 1
  std::uint64_t bytes = 0;
  SnapshotTotals totals;
  std::vector<Lsn> damaged;  // newer ones that were passed over
};

/// What a replay found.
struct RecoveredLog {
  Lsn last_lsn;                     // the last durable record; none for an empty log
  StateHash state;                  // as the last batch header has it: what the replayed state must hash to
  std::uint64_t records = 0;        // given to the visitor
  std::uint64_t bytes = 0;          // of the log that was read: what is not in the snapshot, about
  std::uint64_t dropped_bytes = 0;  // of a torn suffix that Log::start will copy aside
  RecoveryRow tail{};               // how the last segment ends (recovery_tail.h)
  bool unused_segment = false;      // a segment that was prepared and never begun follows it
  bool created = false;             // the directory was empty: this is a new log
};

class LogRecovery {
 public:
  using Progress = std::function<void(const RecoveryProgress&)>;

  /// Locks the directory and reads mark and segment headers; a missing or empty directory becomes a new log (warning),
  /// or is refused with `require_data`. Errors: locked, damaged, foreign, unsupported, not_found (require_data),
  /// bad_option (segment_bytes), io_failed; each names the file and what to do.
  static Result<std::unique_ptr<LogRecovery>> open(FileSystem& files, Clock& clock, Random& random,
                                                   const LogSettings& settings);
  ~LogRecovery();
  LogRecovery(const LogRecovery&) = delete;
  LogRecovery& operator=(const LogRecovery&) = delete;

  /// Known before the replay, so that the inventory can be made with the log's secret.
  const LogIdentity& identity() const noexcept;
  /// Drives the visitor with the newest sound snapshot, if there are any. What it says is still to be held against
  /// RestoredSnapshot by the visitor's own state hash: replay does not see it. Errors: refusals of choose_snapshot, or the
  /// visitor's own with file and offset.
  /// REQUIRES: called once, before replay.
  Result<RestoredSnapshot> restore(SnapshotVisitor& visitor, const Progress& progress = {});
  /// Drives the visitor with every record after the snapshot, in LSN order, and decides what the end of the log is.
  /// Errors: damaged, foreign, unsupported, io_failed with file and offset, or the visitor's own with these added.
  /// REQUIRES: called once, after restore.
  Result<RecoveredLog> replay(RecordVisitor& visitor, const Progress& progress = {});

 private:
  friend class Log;
  friend class Opening;
  struct State;
  explicit LogRecovery(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace holdfast
