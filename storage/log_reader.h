// Reads the log while it runs: the batch that holds an LSN, from the recent ones in memory, else from its segment's file.
// Deterministic over FileSystem; one thread, which is not the log's.
//
// Finding a batch in a file means walking over the headers before it. Places that were walked over are kept, so that who
// reads on continues where it was. What is read is checked by its sums: a damaged place is an error that names it.
#pragma once

#include "storage/file_window.h"
#include "storage/recent_batches.h"

#include <map>
#include <optional>
#include <string>

namespace holdfast {

/// A segment as its header tells.
struct SegmentSpan {
  std::uint64_t number = 0;
  Lsn first_lsn;
  std::uint64_t file_bytes = 0;
  std::uint64_t used_bytes = 0;  // once the next one has begun
};

class LogReader {
 public:
  /// What a batch says, until the next call.
  struct Batch {
    BatchHeader header;
    std::span<const std::byte> bytes;  // header and records; on disk zeros follow up to padded_bytes(header.body_bytes)
    std::span<const std::byte> records() const noexcept { return bytes.subspan(segment_format::kBatchHeaderBytes); }
  };

  /// `recent` and `files` outlive this.
  LogReader(FileSystem& files, std::string directory, const LogId& log, const RecentBatches& recent)
      : files_(files), directory_(std::move(directory)), log_tag_(log_tag(log)), recent_(recent) {}

  /// The batch that holds this LSN. REQUIRES: lsn is at least oldest() and durable.
  /// Errors: not_found when its segment was removed, damaged, io_failed; each names the file.
  Result<Batch> batch_at(Lsn lsn);
  /// The first LSN that is kept: looks whether the first segment is still there.
  Result<Lsn> oldest();
  /// The segments that were begun, in order, as of the last call of oldest() or the last batch read from a file.
  const std::vector<SegmentSpan>& segments() const noexcept { return segments_; }
  /// Looks for segments that came or went.
  Result<void> refresh();

 private:
  struct Place {
    std::uint64_t segment = 0;
    std::uint64_t offset = 0;
  };

  Result<std::optional<SegmentSpan>> look_at(std::uint64_t number, bool last);
  Result<Batch> read_at(Lsn lsn);
  Result<std::optional<Batch>> find_in_file(Lsn lsn);
  Result<std::optional<Batch>> walk(Lsn lsn, Lsn first, Place place);
  Result<FileWindow*> window_of(std::uint64_t segment);
  void keep(Lsn first, Place place);
  Error damaged(const Place& place, std::string_view what) const;
  std::string path_of(std::uint64_t segment) const;

  FileSystem& files_;
  std::string directory_;
  std::uint64_t log_tag_;
  const RecentBatches& recent_;
  std::vector<SegmentSpan> segments_;
  std::map<Lsn, Place> places_;  // where batches begin, by their first LSN
  AlignedBuffer block_;
  std::uint64_t open_segment_ = 0;
  std::optional<FileWindow> window_;  // of open_segment_
  std::shared_ptr<const RecentBatch> held_;
};

}  // namespace holdfast
