// Repairs the log of a data directory from which a server does not start: what is sound from its beginning on goes on as
// a log of its own (log_fork.h), the files it had before are kept beside it. One thread.
//
//   before-repair-1/   what the directory held before its first repair: snapshots, segments, mark and sinks
//
// At every moment, also after a crash, a server either refuses the directory or finds the whole repaired log: first all
// of the new log is durable under names that mean nothing, then the old files go, snapshots and the first of the log before
// the others, then the new ones take their names, the first of the log last. Two empty files say how far this is: while
// they are there a server refuses, and the next repair completes what was cut off.
#pragma once

#include "storage/log_fork.h"
#include "storage/log_inspect.h"
#include "storage/log_salvage.h"

namespace holdfast {

/// What a repair would do.
struct RepairReport {
  bool usable = false;      // a server starts: there is nothing to repair
  bool unfinished = false;  // an earlier repair was cut off
  std::string refusal;      // why a server does not start
  Lsn base;                 // the snapshot that the repaired log begins with; none: it begins with LSN 1
  Lsn kept;                 // what leads to here stays; none: nothing stays
  Lsn known;                // the highest LSN that is mentioned anywhere
  std::uint64_t lost = 0;
  std::vector<LsnRange> unreadable;  // of the lost ones those that can not even be shown
};

/// What it did.
struct RepairDone {
  LogId id{};
  LogId forked_from{};
  ForkSummary fork;       // empty where an earlier repair was completed
  std::string old_files;  // the folder they are in now
};

class LogRepair {
 public:
  LogRepair(FileSystem& files, Clock& clock, Random& random, std::string directory)
      : files_(files), clock_(clock), random_(random), directory_(std::move(directory)) {}

  /// Locks the directory, until this is destroyed, and looks. Changes nothing. Errors: `locked`, no log there, a file
  /// that cannot be opened.
  Result<RepairReport> examine(const LogSalvage::Progress& progress = {});
  /// A line for every record of a sound batch that would be lost, with its item's name where it is known.
  Result<void> list_lost(bool json, const LineSink& out);
  /// REQUIRES: examined, and not usable. Errors: no_space, io_failed; a repeated repair begins again or goes on.
  Result<RepairDone> carry_out(const LogSalvage::Progress& progress = {});

 private:
  struct Stage {
    std::uint64_t number = 1;  // of the repair
    bool moving_out = false;   // the new log is complete; the old files go
    bool moving_in = false;    // the old files are gone; the new ones come
  };
  Result<Stage> find_stage() const;
  Result<ForkSummary> write_fork(LogIdentity& identity, const LogSalvage::Progress& progress);
  Result<void> check_space() const;
  Result<void> move_out(const Stage& stage);
  Result<void> write_marker(const std::string& path);
  std::string folder(const Stage& stage) const;
  std::string out_marker(const Stage& stage) const { return folder(stage) + ".out"; }
  std::string in_marker(const Stage& stage) const { return folder(stage) + ".in"; }

  FileSystem& files_;
  Clock& clock_;
  Random& random_;
  std::string directory_;
  std::unique_ptr<FileLock> lock_;
  std::optional<LogSalvage> salvage_;
};

}  // namespace holdfast
