#include "storage/log_copy.h"

#include "storage/log_walk.h"
#include "storage/mark_reader.h"
#include "storage/snapshot_reader.h"

#include <fmt/format.h>

namespace holdfast {

Result<std::string> find_base_snapshot(FileSystem& files, const std::string& directory, const LogWalk& walk) {
  const auto found = look_at_directory(files, directory);
  if (!found) return found.error();
  std::string why = "there is no snapshot";
  for (const Lsn lsn : found->snapshots) {
    if (lsn.next() < walk.first_lsn()) continue;
    const std::string path = snapshot_path(directory, lsn);
    auto reader = SnapshotReader::open(files, path);
    const bool same_log = reader && reader->header().log.id == walk.identity().id && reader->header().lsn == lsn;
    const auto sound = same_log ? reader->verify() : Result<void>();
    if (same_log && sound) return path;
    why = !reader    ? std::string(reader.error().text())
          : same_log ? std::string(sound.error().text())
                     : fmt::format("{} belongs to another log", path);
  }
  return Error::format(ErrorCode::damaged, "{}: the log begins with LSN {}, and no snapshot leads to it: {}", directory,
                       walk.first_lsn().value(), why);
}

Result<CopySource> look_at_source(FileSystem& files, const std::string& directory) {
  const auto walk = LogWalk::open(files, directory);
  if (!walk) return walk.error();
  CopySource source{walk->identity(), walk->first_lsn(), std::nullopt};
  const auto mark = read_mark(files, mark_path(directory));
  if (!mark) return mark.error();
  if (*mark && (*mark)->log_id == source.identity.id) source.clocks = (*mark)->clocks;
  return source;
}

Result<void> copy_log(FileSystem& files, const std::string& directory, LogFork& fork,
                      const std::function<void(Lsn)>& progress) {
  auto walk = LogWalk::open(files, directory);
  if (!walk) return walk.error();
  if (walk->first_lsn() > Lsn(1)) {
    const auto base = find_base_snapshot(files, directory, *walk);
    if (!base) return base.error();
    HOLDFAST_TRY(fork.begin_with(*base));
  }
  const Lsn from = fork.summary().last;
  for (auto step = walk->next(); step != LogWalk::Step::end; step = walk->next()) {
    if (step == LogWalk::Step::segment) continue;
    const FoundBatch& batch = walk->batch();
    if (batch.header.last_lsn() <= from) continue;
    const auto wanted = fork.add(batch.header, batch.body);
    if (!wanted) {
      return Error::format(wanted.error().code(), "{} at offset {}: {}", walk->path(), batch.offset,
                           wanted.error().text());
    }
    if (!*wanted) return {};
    if (progress) progress(fork.summary().last);
  }
  if (!walk->unsound()) return {};
  return Error::format(walk->unsound()->code(), "{}. Everything up to LSN {} is sound", walk->unsound()->text(),
                       fork.summary().last.value());
}

}  // namespace holdfast
