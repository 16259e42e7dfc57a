#include "storage/broken_copy.h"

#include "storage/file_window.h"
#include "storage/limits.h"

#include <fmt/format.h>

namespace holdfast {
namespace {

Result<void> copy(FileSystem& files, FileWindow& from, const TailDecision& tail, const std::string& path) {
  const auto leftover = files.exists(path);
  if (!leftover) return leftover.error();
  if (*leftover) HOLDFAST_TRY(files.remove(path));
  auto to = files.open(path, OpenMode::create);
  if (!to) return to.error();
  for (std::uint64_t at = tail.dropped_begin; at < tail.dropped_end; at += kBlockBytes) {
    const auto block = from.view(at, std::min<std::uint64_t>(kBlockBytes, tail.dropped_end - at));
    if (!block) return block.error();
    HOLDFAST_TRY((*to)->write(at - tail.dropped_begin, *block));
  }
  return (*to)->sync();
}

}  // namespace

Result<void> keep_broken_copy(FileSystem& files, const std::string& directory, std::uint64_t segment,
                              const TailDecision& tail, const LogFiles& found) {
  if (tail.dropped_begin == tail.dropped_end) return {};
  auto from = FileWindow::open(files, segment_path(directory, segment), OpenMode::read_suspicious);
  if (!from) return from.error();
  const std::string path = broken_path(directory, segment, tail.dropped_begin);
  const std::string temporary = temporary_path(path);
  HOLDFAST_TRY(copy(files, *from, tail, temporary));
  HOLDFAST_TRY(files.rename(temporary, path));
  for (std::size_t index = 0; index + kBrokenCopiesMax <= found.broken.size(); ++index) {
    const std::string old = fmt::format("{}/{}", directory, found.broken[index]);
    if (old != path) HOLDFAST_TRY(files.remove(old));
  }
  return files.sync_directory(directory);
}

}  // namespace holdfast
