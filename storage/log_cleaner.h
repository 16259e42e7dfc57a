// Removes what of a log no start needs any more: snapshots beyond the newest two, and segments whose every record is in
// the older of these. In an order that leaves a whole log after a crash at any call. One thread, that of who makes
// snapshots, beside the log's; never the live segment.
#pragma once

#include "storage/log_files.h"
#include "storage/segment_format.h"

namespace holdfast {

struct SegmentFacts {
  std::uint64_t number = 0;
  bool sealed = false;  // it has a successor
  Lsn first;
  Lsn last;  // of a sealed one; before `first` when it has no record
  std::uint64_t file_bytes = 0;
  std::chrono::nanoseconds sealed_hold{};  // of a sealed one: the hold clock when its successor began
};

class LogCleaner {
 public:
  /// Snapshots that are kept.
  static constexpr std::size_t kSnapshotsKept = 2;

  LogCleaner(FileSystem& files, std::string directory) : files_(files), directory_(std::move(directory)) {}

  /// Looks at what there is. Reads the header of each segment once. Errors: io_failed, damaged; nothing was changed.
  Result<void> look();
  /// Oldest first, as the last look found them, less what was removed since.
  const std::vector<SegmentFacts>& segments() const noexcept { return segments_; }
  const std::vector<Lsn>& snapshots() const noexcept { return snapshots_; }
  /// Of a snapshot's file.
  Result<std::uint64_t> bytes_of(Lsn snapshot) const;
  /// Up to here the older of two snapshots has everything; none while there are fewer than two.
  Lsn covered() const noexcept;

  /// What is left over of making snapshots. REQUIRES: none is being made.
  Result<void> remove_leftovers();
  /// Puts a snapshot that is not sound aside, under another name: it is none any more.
  Result<void> put_aside(Lsn snapshot);
  /// All snapshots but the newest two and those from `held` on.
  Result<void> remove_snapshots(Lsn held);
  /// Segments that end with `through` or before, and whose records the older snapshot has: oldest first. Returns how many.
  Result<std::size_t> remove_segments(Lsn through);

 private:
  Result<SegmentHeader> header_of(std::uint64_t number) const;
  Result<void> see(std::uint64_t number);

  FileSystem& files_;
  std::string directory_;
  std::vector<SegmentFacts> segments_;
  std::vector<Lsn> snapshots_;
  std::vector<std::string> temporaries_;
  std::uint64_t seen_ = 0;  // the highest number whose header was read
};

}  // namespace holdfast
