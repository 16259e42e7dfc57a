#include "storage/log_walk.h"

#include <fmt/format.h>

namespace holdfast {

Result<std::unique_ptr<LogWalk::Segment>> LogWalk::open_segment(FileSystem& files, const std::string& path) {
  auto window = FileWindow::open(files, path, OpenMode::read);
  if (!window) return window.error();
  const auto block = window->view(0, kBlockBytes);
  if (!block) return block.error();
  const auto header = read_segment_header(*block);
  if (!header) return Error::format(header.error().code(), "{}: {}", path, header.error().text());
  return std::make_unique<Segment>(Segment{std::move(*window), *header});
}

Result<LogWalk> LogWalk::open(FileSystem& files, const std::string& directory, Lsn from) {
  auto found = look_at_directory(files, directory);
  if (!found) return found.error();
  if (found->segments.empty()) return Error::format(ErrorCode::not_found, "{} holds no log", directory);
  LogWalk walk(files, directory, std::move(found->segments));
  auto first = open_segment(files, segment_path(directory, walk.numbers_.front()));
  if (!first) return first.error();
  if ((*first)->header.number != walk.numbers_.front()) {
    return Error::format(ErrorCode::foreign, "{}: its header says that it is segment {}", (*first)->window.path(),
                         (*first)->header.number);
  }
  walk.here_ = std::move(*first);
  walk.first_lsn_ = walk.here_->header.first_lsn;
  walk.identity_ = walk.here_->header.log;
  walk.look_ahead();
  while (walk.ahead_ && walk.ahead_->header.first_lsn <= from) {
    ++walk.index_;
    walk.here_ = std::move(walk.ahead_);
    walk.look_ahead();
  }
  return walk;
}

/// Before this segment is read, so that of one which a server goes on writing nothing is missed.
void LogWalk::look_ahead() {
  ahead_.reset();
  ahead_error_.reset();
  if (is_last()) return;
  auto ahead = open_segment(*files_, segment_path(directory_, numbers_[index_ + 1]));
  if (ahead) {
    ahead_ = std::move(*ahead);
  } else {
    ahead_error_ = ahead.error();
  }
}

LogWalk::Step LogWalk::next() {
  if (ended_) return Step::end;
  if (reader_ == nullptr) {
    reader_ = std::make_unique<SegmentReader>(here_->window, here_->header);
    return Step::segment;
  }
  if (ahead_ && reader_->end() == ahead_->header.predecessor) return leave();
  auto found = reader_->next();
  if (!found) return stop(reader_->end().length_bytes, found.error().text());
  batch_ = *found;
  if (batch_.finding == BatchFinding::valid) return Step::batch;
  const bool nothing = batch_.finding == BatchFinding::zeros || batch_.finding == BatchFinding::file_ends;
  if (ahead_ || !nothing) return stop(batch_.offset, finding_name(batch_.finding));
  // The one after the live segment is prepared and has no header.
  if (!is_last() && index_ + 2 != numbers_.size()) unsound_ = ahead_error_;
  ended_ = true;
  return Step::end;
}

/// To the next segment, if it is the next one of the same log.
LogWalk::Step LogWalk::leave() {
  const SegmentHeader& header = ahead_->header;
  if (header.number != here_->header.number + 1 || header.log.id != identity_.id || header.state != reader_->state()) {
    here_ = std::move(ahead_);
    return stop(0, "it does not follow the segment before it");
  }
  ++index_;
  reader_.reset();
  here_ = std::move(ahead_);
  look_ahead();
  return next();
}

LogWalk::Step LogWalk::stop(std::uint64_t offset, std::string_view what) {
  unsound_ = Error::format(ErrorCode::damaged, "{} at offset {}: {}", path(), offset, what);
  ended_ = true;
  return Step::end;
}

}  // namespace holdfast
