// Reads the batches of a log in order without owning it: beside a server that goes on writing, up to an LSN that is known
// to be durable. Reads only. One thread.
#pragma once

#include "storage/log_files.h"
#include "storage/segment_reader.h"

#include <optional>

namespace holdfast {

class LogScan {
 public:
  /// Begins with the batch that holds `from`, or with the first of the log where that is later. Segments that come into
  /// being afterwards are not seen, and none may be removed meanwhile. Errors: not_found (no log), damaged, io_failed.
  static Result<LogScan> open(FileSystem& files, const std::string& directory, Lsn from);

  const SegmentHeader& first() const noexcept { return headers_.front(); }
  /// The next batch that ends with `through` or before; nothing when there is none. Valid until the next call.
  /// Errors: damaged, io_failed, naming file and offset.
  Result<std::optional<FoundBatch>> next(Lsn through);

 private:
  LogScan(FileSystem& files, std::string directory) : files_(&files), directory_(std::move(directory)) {}
  Result<void> read_headers(const std::vector<std::uint64_t>& numbers);
  Result<void> enter(std::size_t index);
  Error damaged(std::string_view what) const;

  FileSystem* files_;
  std::string directory_;
  std::vector<SegmentHeader> headers_;  // of the segments that were begun, in order
  std::size_t index_ = 0;
  std::unique_ptr<FileWindow> window_;
  std::optional<SegmentReader> reader_;
};

}  // namespace holdfast
