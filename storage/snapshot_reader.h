// Reads a snapshot. Survives any bytes: what is not exactly what a writer made is an error that names file and offset.
// One thread.
#pragma once

#include "storage/file_window.h"
#include "storage/snapshot.h"

#include <functional>

namespace holdfast {

class SnapshotReader {
 public:
  /// Bytes read so far.
  using Progress = std::function<void(std::uint64_t bytes)>;

  /// Reads the header. Errors: not_found, io_failed, damaged, unsupported (a newer format).
  static Result<SnapshotReader> open(FileSystem& files, const std::string& path);

  const SnapshotHeader& header() const noexcept { return header_; }
  const std::string& path() const noexcept { return window_.path(); }
  std::uint64_t bytes() const noexcept { return window_.size(); }

  /// Reads every byte and holds it against its sums; decides whether the snapshot can be believed. Errors: damaged,
  /// io_failed.
  Result<void> verify(const Progress& progress = {});
  /// Drives the visitor with what the snapshot says. Sums are looked at again. Errors: damaged, io_failed, or the visitor's
  /// own with file and offset added.
  Result<SnapshotTotals> read(SnapshotVisitor& visitor, const Progress& progress = {});

 private:
  struct Chunk {
    std::uint64_t offset = 0;
    bool last = false;
    std::span<const std::byte> payload;  // until the next one
  };
  SnapshotReader(FileWindow window, const SnapshotHeader& header, std::uint64_t sum)
      : window_(std::move(window)), header_(header), first_sum_(sum) {}
  void rewind() noexcept;
  Result<Chunk> next();
  Error damaged(std::uint64_t offset, std::string_view what) const;

  FileWindow window_;
  SnapshotHeader header_;
  std::uint64_t first_sum_;
  std::uint64_t sum_ = 0;
  std::uint64_t at_ = 0;
};

/// A snapshot's first block. The text of an error does not name the file.
Result<SnapshotHeader> read_snapshot_header(std::span<const std::byte> block);

}  // namespace holdfast
