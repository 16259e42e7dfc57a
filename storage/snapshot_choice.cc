#include "storage/snapshot_choice.h"

#include "storage/recovery_tail.h"

namespace holdfast {
namespace {

Result<void> check_owner(const SnapshotReader& snapshot, const LogExtent& log, Lsn named) {
  const SnapshotHeader& header = snapshot.header();
  const bool same_log = header.log.id == log.log.id && header.log.secret == log.log.secret;
  if (same_log && header.lsn == named) return {};
  return refuse(RecoveryRow::foreign_file, ErrorCode::foreign, snapshot.path(), 0,
                same_log ? fmt::format("its header says that it is the snapshot of LSN {}", header.lsn.value())
                         : "it belongs to another log");
}

Result<void> check_continues(const LogExtent& log, Lsn lsn) {
  if (log.first <= lsn.next()) return {};
  const auto before = lsn == Lsn() ? std::string("there is no snapshot of what was before")
                                   : fmt::format("the snapshot ends with LSN {}", lsn.value());
  return Error::format(ErrorCode::damaged,
                       "{}: {}: the log begins with LSN {}, and {}. Nothing was changed; restore a backup",
                       row_name(RecoveryRow::missing_file), log.directory, log.first.value(), before);
}

/// Nothing when it is damaged; why then stands in `why`.
Result<std::optional<SnapshotReader>> open_sound(FileSystem& files, const LogExtent& log, Lsn lsn, Error& why,
                                                 const SnapshotReader::Progress& progress) {
  const std::string path = snapshot_path(log.directory, lsn);
  auto reader = SnapshotReader::open(files, path);
  if (reader) {
    HOLDFAST_TRY(check_owner(*reader, log, lsn));
    const auto sound = reader->verify(progress);
    if (sound) return std::optional(std::move(*reader));
    why = sound.error();
  } else {
    why = reader.error();
  }
  if (why.code() == ErrorCode::damaged) return std::optional<SnapshotReader>();
  return refuse(why.code() == ErrorCode::unsupported ? RecoveryRow::bad_snapshot : RecoveryRow::read_failed, why.code(),
                path, 0, why.text());
}

}  // namespace

Result<std::optional<SnapshotReader>> choose_snapshot(FileSystem& files, const LogExtent& log,
                                                      const std::vector<Lsn>& snapshots,
                                                      const std::function<void(std::string_view)>& notice,
                                                      const SnapshotReader::Progress& progress) {
  Error why;
  std::vector<std::string> passed_over;
  for (auto lsn = snapshots.rbegin(); lsn != snapshots.rend(); ++lsn) {
    auto sound = open_sound(files, log, *lsn, why, progress);
    if (!sound) return sound.error();
    if (*sound) {
      HOLDFAST_TRY(check_continues(log, *lsn));
      for (const std::string& line : passed_over) {
        if (notice) notice(line);
      }
      return sound;
    }
    passed_over.push_back(fmt::format("{}; the start goes by an older snapshot and the log behind it", why.text()));
  }
  if (snapshots.empty()) {
    HOLDFAST_TRY(check_continues(log, Lsn()));
    return std::optional<SnapshotReader>();
  }
  return Error::format(
      ErrorCode::damaged, "{}: {}. {}. Nothing was changed", row_name(RecoveryRow::bad_snapshot), why.text(),
      log.first == Lsn(1) ? "The log begins with LSN 1: move the snapshots away, and a start goes by it alone"
                          : "No snapshot is sound, and the log alone is not whole: restore a backup");
}

}  // namespace holdfast
