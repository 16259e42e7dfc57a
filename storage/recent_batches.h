// The batches that were written last, for readers of the log: the newest ones that fit a number of bytes, without a gap.
// Written by the log thread, which it never makes wait; read by one other thread.
#pragma once

#include "storage/segment_format.h"

#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace holdfast {

/// One batch without its padding.
struct RecentBatch {
  BatchHeader header;
  std::vector<std::byte> bytes;  // header and records

  std::span<const std::byte> records() const noexcept {
    return std::span<const std::byte>(bytes).subspan(segment_format::kBatchHeaderBytes);
  }
};

class RecentBatches {
 public:
  explicit RecentBatches(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// Takes a copy; the oldest go until it fits. While the reader looks something up, which is short, nothing is kept:
  /// the reader then finds these batches in their files. Log thread.
  void add(std::span<const std::byte> batch, const BatchHeader& header);
  /// The batch that holds this LSN; nothing when it is not among these. Reader.
  std::shared_ptr<const RecentBatch> find(Lsn lsn) const;
  /// Bytes that are kept. Reader.
  std::size_t bytes() const;

 private:
  const std::size_t bytes_max_;
  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<const RecentBatch>> batches_;  // guarded by mutex_, in LSN order without a gap
  std::size_t bytes_ = 0;                                   // guarded by mutex_
};

}  // namespace holdfast
