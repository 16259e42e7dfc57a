#include "storage/log_cleaner.h"

#include "storage/segment_reader.h"

#include <algorithm>

namespace holdfast {

Result<SegmentHeader> LogCleaner::header_of(std::uint64_t number) const {
  auto window = FileWindow::open(files_, segment_path(directory_, number), OpenMode::read);
  if (!window) return window.error();
  const auto block = window->view(0, kBlockBytes);
  if (!block) return block.error();
  return read_segment_header(*block);
}

/// A segment that began tells where the one before it ends. One that did not begin yet is looked at again later.
Result<void> LogCleaner::see(std::uint64_t number) {
  const auto header = header_of(number);
  if (!header) return header.error();
  seen_ = number;
  if (!segments_.empty() && segments_.back().number == header->predecessor.segment) {
    SegmentFacts& before = segments_.back();
    before.sealed = true;
    before.last = header->predecessor.last_lsn;
    before.sealed_hold = header->clocks.hold;
  }
  segments_.push_back({number, false, header->first_lsn, {}, header->segment_bytes, {}});
  return {};
}

Result<void> LogCleaner::look() {
  auto found = look_at_directory(files_, directory_);
  if (!found) return found.error();
  snapshots_ = std::move(found->snapshots);
  temporaries_ = std::move(found->temporaries);
  for (const std::uint64_t number : found->segments) {
    if (number <= seen_) continue;
    const auto seen = see(number);
    if (!seen && number != found->segments.back()) return seen.error();  // the last one may not have begun
  }
  return {};
}

Result<std::uint64_t> LogCleaner::bytes_of(Lsn snapshot) const {
  const auto window = FileWindow::open(files_, snapshot_path(directory_, snapshot), OpenMode::read);
  if (!window) return window.error();
  return window->size();
}

Lsn LogCleaner::covered() const noexcept {
  return snapshots_.size() < kSnapshotsKept ? Lsn() : snapshots_[snapshots_.size() - kSnapshotsKept];
}

Result<void> LogCleaner::remove_leftovers() {
  for (const std::string& name : temporaries_) {
    if (name.starts_with("snapshot-")) HOLDFAST_TRY(files_.remove(directory_ + "/" + name));
  }
  return {};
}

Result<void> LogCleaner::put_aside(Lsn snapshot) {
  const std::string path = snapshot_path(directory_, snapshot);
  HOLDFAST_TRY(files_.rename(path, set_aside_path(path)));
  std::erase(snapshots_, snapshot);
  return files_.sync_directory(directory_);
}

Result<void> LogCleaner::remove_snapshots(Lsn held) {
  bool removed = false;
  while (snapshots_.size() > kSnapshotsKept && (held == Lsn() || snapshots_.front() < held)) {
    HOLDFAST_TRY(files_.remove(snapshot_path(directory_, snapshots_.front())));
    snapshots_.erase(snapshots_.begin());
    removed = true;
  }
  return removed ? files_.sync_directory(directory_) : Result<void>();
}

Result<std::size_t> LogCleaner::remove_segments(Lsn through) {
  const Lsn last = std::min(through, covered());
  std::size_t removed = 0;
  while (!segments_.empty() && segments_.front().sealed && segments_.front().last <= last) {
    HOLDFAST_TRY(files_.remove(segment_path(directory_, segments_.front().number)));
    // Durable one by one: after a crash the log has no gap.
    HOLDFAST_TRY(files_.sync_directory(directory_));
    segments_.erase(segments_.begin());
    ++removed;
  }
  return removed;
}

}  // namespace holdfast
