// Which files a data directory has, by name. Any thread.
//
//   lock                          held by the one process that owns the directory
//   mark                          how far the log is durable
//   sinks                         who reads the log, and how far each has come
//   segment-0000000001            the log, in numbers without a gap
//   snapshot-00000000000000000042   the state after that LSN
//   segment-0000000001-at-8192.broken   a copy of a torn suffix that recovery dropped
//   *.tmp                         being made; worth nothing after a crash
#pragma once

#include "storage/file_system.h"

namespace holdfast {

std::string segment_path(const std::string& directory, std::uint64_t number);
std::string snapshot_path(const std::string& directory, Lsn lsn);
std::string mark_path(const std::string& directory);
std::string sinks_path(const std::string& directory);
std::string lock_path(const std::string& directory);
std::string broken_path(const std::string& directory, std::uint64_t number, std::uint64_t offset);
/// The name under which a file that is not sound is kept for people.
std::string set_aside_path(const std::string& path);
/// The name under which a file is made before it is renamed.
std::string temporary_path(const std::string& path);

/// What lies in a data directory, as far as the log is concerned.
struct LogFiles {
  bool directory_exists = false;
  std::vector<std::uint64_t> segments;   // numbers, ascending
  std::vector<Lsn> snapshots;            // ascending
  std::vector<std::string> temporaries;  // names
  std::vector<std::string> broken;       // names, oldest segment first
  bool mark = false;
  bool sinks = false;
  bool unfinished_repair = false;  // log_repair.h
  std::string other;               // the first name of something else; "lost+found" is nothing

  bool empty() const noexcept {
    return segments.empty() && snapshots.empty() && broken.empty() && !mark && !sinks && !unfinished_repair &&
           other.empty();
  }
};

Result<LogFiles> look_at_directory(FileSystem& files, const std::string& directory);

/// The directory that the directory is in, for making its name durable.
std::string parent_directory(const std::string& directory);

}  // namespace holdfast
