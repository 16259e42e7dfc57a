// A file read through a sliding window, so that a scan costs one read a mebibyte. One thread.
#pragma once

#include "storage/aligned_buffer.h"
#include "storage/file_system.h"

namespace holdfast {

class FileWindow {
 public:
  /// Opens the file. A window is at most as long as the longest view asked for, or kWindowBytes.
  static Result<FileWindow> open(FileSystem& files, const std::string& path, OpenMode mode);

  const std::string& path() const noexcept { return path_; }
  std::uint64_t size() const noexcept { return size_; }
  /// The bytes from `offset`, fewer only at the end of the file; valid until the next call. An error is io_failed and
  /// names the offset. REQUIRES: bytes <= kBatchBytesMax.
  Result<std::span<const std::byte>> view(std::uint64_t offset, std::size_t bytes);

 private:
  FileWindow(std::unique_ptr<File> file, std::string path, std::uint64_t size) noexcept
      : file_(std::move(file)), path_(std::move(path)), size_(size) {}

  std::unique_ptr<File> file_;
  std::string path_;
  std::uint64_t size_;
  AlignedBuffer buffer_;
  std::uint64_t begin_ = 0;  // what the buffer holds: [begin_, begin_ + filled_)
  std::size_t filled_ = 0;
};

}  // namespace holdfast
