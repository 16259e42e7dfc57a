// What the first half of opening a log hands to the second: between log_recovery.cc and log.cc only.
#pragma once

#include "storage/log_files.h"
#include "storage/log_recovery.h"
#include "storage/mark_format.h"
#include "storage/recovery_tail.h"

#include <optional>

namespace holdfast {

struct LogRecovery::State {
  State(FileSystem& file_system, Clock& machine_clock, const LogSettings& log_settings)
      : files(file_system), clock(machine_clock), settings(log_settings) {}

  FileSystem& files;
  Clock& clock;
  LogSettings settings;
  std::unique_ptr<FileLock> lock;
  LogFiles directory;
  LogIdentity identity;
  std::optional<Mark> mark;
  std::vector<SegmentHeader> headers;  // of the segments that were begun, in order
  std::optional<RestoredSnapshot> restored;
  bool replayed = false;

  // After the replay.
  SegmentEnd end;  // of the last begun segment; all zero for a new log
  StateHash state;
  std::optional<ClockPoint> clocks;  // the latest known
  std::uint64_t incarnation = 0;     // the highest seen
  bool downtime_open = false;        // the last start did not believe its downtime, and wrote no batch
  TailDecision tail;
  bool created = false;

  /// One line for the operator.
  void notice(std::string_view line) const {
    if (settings.notice) settings.notice(line);
  }
};

}  // namespace holdfast
