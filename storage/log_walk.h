// Walks through a log's files, segment by segment and batch by batch, as far as they are sound. Reads only and takes no
// lock: it may run beside a server, of whose newest batches it then sees some. One thread.
#pragma once

#include "storage/log_files.h"
#include "storage/segment_reader.h"

#include <optional>

namespace holdfast {

class LogWalk {
 public:
  enum class Step : std::uint8_t { segment, batch, end };

  /// Begins with the segment that holds `from`. Errors: not_found where there is no log; what is wrong with the first
  /// segment's header.
  static Result<LogWalk> open(FileSystem& files, const std::string& directory, Lsn from = Lsn(1));

  /// To the next segment, or the next sound batch of this one. After `end` comes `end` again.
  Step next();
  /// Past a segment or batch: the header of the segment that it is in, and its file.
  const SegmentHeader& segment() const noexcept { return here_->header; }
  const std::string& path() const noexcept { return here_->window.path(); }
  /// REQUIRES: next() said batch. Its bytes until the next call.
  const FoundBatch& batch() const noexcept { return batch_; }

  /// Where the log's files begin.
  Lsn first_lsn() const noexcept { return first_lsn_; }
  const LogIdentity& identity() const noexcept { return identity_; }
  /// Why it ended, and where; nothing where only zeros, or the end of the last file, follow.
  const std::optional<Error>& unsound() const noexcept { return unsound_; }

 private:
  struct Segment {
    FileWindow window;
    SegmentHeader header;
  };
  LogWalk(FileSystem& files, std::string directory, std::vector<std::uint64_t> numbers)
      : files_(&files), directory_(std::move(directory)), numbers_(std::move(numbers)) {}
  static Result<std::unique_ptr<Segment>> open_segment(FileSystem& files, const std::string& path);
  void look_ahead();
  Step leave();
  Step stop(std::uint64_t offset, std::string_view what);
  bool is_last() const noexcept { return index_ + 1 == numbers_.size(); }

  FileSystem* files_;
  std::string directory_;
  std::vector<std::uint64_t> numbers_;
  std::size_t index_ = 0;  // of `here_` among the numbers
  std::unique_ptr<Segment> here_;
  std::unique_ptr<Segment> ahead_;  // whose header says where this one ends
  std::optional<Error> ahead_error_;
  std::unique_ptr<SegmentReader> reader_;  // none: the segment has not been entered
  FoundBatch batch_;
  Lsn first_lsn_;
  LogIdentity identity_;
  std::optional<Error> unsound_;
  bool ended_ = false;
};

}  // namespace holdfast
