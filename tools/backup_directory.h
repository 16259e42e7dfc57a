// A backup: a directory with the log up to some LSN, the snapshot that it begins with if it does not begin with LSN 1, and
// backup.json, which says what it is. The log's secret is blank in it, so that no server starts from it.
//
// It is made under its name with ".tmp" behind it; only a whole one has its own name. One thread.
#pragma once

#include "storage/log_fork.h"

#include <boost/json/object.hpp>

#include <optional>

namespace holdfast {

inline constexpr const char* kBackupFile = "backup.json";

/// What backup.json says.
struct BackupFacts {
  LogId log{};
  Lsn snapshot;  // that it begins with; none: it begins with LSN 1
  Lsn through;
  WallTime through_time{};  // of its last record
  StateHash state;
  WallTime made{};
  std::string from;  // a server, or a data directory
};
boost::json::object show(const BackupFacts& facts);

/// Nothing where the directory has no backup.json. Errors: damaged, unsupported, io_failed.
Result<std::optional<BackupFacts>> read_backup_facts(const std::string& directory);

class BackupDirectory {
 public:
  /// Makes DIRECTORY.tmp, anew where a backup was cut off. Errors: bad_option where the directory is there and not empty, or
  /// something else has the other name; io_failed, no_space.
  static Result<BackupDirectory> begin(FileSystem& files, const std::string& directory);

  /// Where the log is to be written.
  const std::string& path() const noexcept { return temporary_; }
  /// Everything durable, then the name. REQUIRES: the log is written out.
  Result<void> publish(const BackupFacts& facts);

 private:
  BackupDirectory(FileSystem& files, std::string directory)
      : files_(&files), directory_(std::move(directory)), temporary_(directory_ + ".tmp") {}
  Result<void> clear();

  FileSystem* files_;
  std::string directory_;
  std::string temporary_;
};

/// 32 hexadecimal digits; the other way round.
std::string hex(const LogId& id);
std::optional<LogId> log_id_of(std::string_view digits);
std::string hex(const StateHash& state);

}  // namespace holdfast
