#include "storage/log_scan.h"

namespace holdfast {

Result<LogScan> LogScan::open(FileSystem& files, const std::string& directory, Lsn from) {
  const auto found = look_at_directory(files, directory);
  if (!found) return found.error();
  if (found->segments.empty()) return Error::format(ErrorCode::not_found, "{} holds no log", directory);
  LogScan scan(files, directory);
  HOLDFAST_TRY(scan.read_headers(found->segments));
  std::size_t begin = 0;
  while (begin + 1 < scan.headers_.size() && scan.headers_[begin + 1].first_lsn <= from) ++begin;
  HOLDFAST_TRY(scan.enter(begin));
  return scan;
}

/// The last file may be one that was prepared and not begun.
Result<void> LogScan::read_headers(const std::vector<std::uint64_t>& numbers) {
  for (const std::uint64_t number : numbers) {
    const std::string path = segment_path(directory_, number);
    auto window = FileWindow::open(*files_, path, OpenMode::read);
    if (!window) return window.error();
    const auto block = window->view(0, kBlockBytes);
    if (!block) return block.error();
    const auto header = read_segment_header(*block);
    if (!header && number == numbers.back() && !headers_.empty() && all_zero(*block)) return {};
    if (!header) return Error::format(header.error().code(), "{}: {}", path, header.error().text());
    if (header->number != number || (!headers_.empty() && headers_.back().number + 1 != number)) {
      return Error::format(ErrorCode::damaged, "{} is not the segment that follows the one before it", path);
    }
    headers_.push_back(*header);
  }
  return {};
}

Result<void> LogScan::enter(std::size_t index) {
  const SegmentHeader& header = headers_[index];
  auto window = FileWindow::open(*files_, segment_path(directory_, header.number), OpenMode::read);
  if (!window) return window.error();
  window_ = std::make_unique<FileWindow>(std::move(*window));
  reader_.emplace(*window_, header);
  index_ = index;
  return {};
}

Error LogScan::damaged(std::string_view what) const {
  return Error::format(ErrorCode::damaged, "{} at offset {}: {}", window_->path(), reader_->end().length_bytes, what);
}

Result<std::optional<FoundBatch>> LogScan::next(Lsn through) {
  const auto nothing = [] { return std::optional<FoundBatch>(); };
  while (reader_->end().last_lsn < through) {
    const SegmentHeader* successor = index_ + 1 < headers_.size() ? &headers_[index_ + 1] : nullptr;
    if (successor != nullptr && reader_->end() == successor->predecessor) {
      HOLDFAST_TRY(enter(index_ + 1));
      continue;
    }
    auto found = reader_->next();
    if (!found) return found.error();
    if (found->finding != BatchFinding::valid) return damaged(finding_name(found->finding));
    if (found->header.last_lsn() > through) return nothing();
    return std::optional(*found);
  }
  return nothing();
}

}  // namespace holdfast
