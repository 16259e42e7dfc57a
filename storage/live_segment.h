// The segment that is being written: its file, how much of it is used, and where the chain of sums stands. After any
// failed write or flush nothing about it is known, and the process must end. One thread opens, writes and closes it.
#pragma once

#include "storage/aligned_buffer.h"
#include "storage/log_recovery.h"
#include "storage/segment_format.h"

namespace holdfast {

class LiveSegment {
 public:
  /// Opens a prepared segment, whose header block is zero. With `always` each write is durable when it returns.
  static Result<std::unique_ptr<LiveSegment>> open(FileSystem& files, const std::string& path, FsyncPolicy fsync);

  /// Makes the header durable. REQUIRES: header.segment_bytes is the file's size; called once, first.
  Result<void> begin(const SegmentHeader& header);
  /// Appends a sealed batch. REQUIRES: it fits.
  Result<void> append(std::span<const std::byte> batch, const BatchHeader& header);
  /// Makes everything appended durable.
  Result<void> flush();
  /// W-16: whether the path still names this file. An error is a failed question, not an answer.
  Result<bool> still_on_disk();

  const std::string& path() const noexcept { return path_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  std::uint64_t free_bytes() const noexcept { return bytes_ - end_.length_bytes; }
  /// Where it ends now, as its successor will pin it.
  const SegmentEnd& end() const noexcept { return end_; }

 private:
  LiveSegment(FileSystem& files, std::string path, FsyncPolicy fsync)
      : files_(files), path_(std::move(path)), fsync_(fsync) {}
  Result<void> write(std::uint64_t offset, std::span<const std::byte> bytes);

  FileSystem& files_;
  std::string path_;
  FsyncPolicy fsync_;
  std::unique_ptr<File> file_;
  std::uint64_t bytes_ = 0;
  FileIdentity identity_;
  SegmentEnd end_;
};

}  // namespace holdfast
