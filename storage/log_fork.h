// Writes batches of one log as another log, a fork: the same records under the same LSNs, but another id and secret, so that
// nobody takes positions in the one for positions in the other. May end earlier than the log it comes from, never inside
// a step. Used by tools; deterministic over FileSystem; one thread.
//
//   [begin_with(snapshot)] -> add(batch) ... -> write_out() -> take_place()
//
// Files are written under names that end with ".new" and mean nothing to a server. They take their own names with the
// one that holds the first record last, so that at no moment a server starts from a part of them.
#pragma once

#include "storage/log_identity.h"
#include "storage/segment_format.h"
#include "storage/state_hasher.h"

#include <optional>

namespace holdfast {

struct ForkSettings {
  std::string directory;  // exists
  /// Of the new log.
  LogIdentity identity;
  /// A fork: forked_from_lsn is filled in. Otherwise it is a copy, under the identity as given.
  bool forks = true;
  /// What is kept: up to this LSN, and before the first record that is later than this.
  Lsn through{UINT64_MAX};
  WallTime until = WallTime::max();
  /// What to do with a batch that tells another state than its records make: write the one that they make, or refuse.
  bool restate = false;
  /// Where the clocks stood last, if later than in the last batch.
  std::optional<ClockPoint> clocks;
  std::uint64_t segment_bytes = kSegmentBytesDefault;
};

/// What became of it.
struct ForkSummary {
  Lsn snapshot;                // that it begins with; none: it begins with LSN 1
  Lsn last;                    // the last record kept; none for an empty log
  WallTime last_wall{};        // its stamp, or a later one before it
  std::uint64_t records = 0;   // kept, CLOCK records included
  std::uint64_t restated = 0;  // batches that told another state
  bool cut = false;            // a batch, or a part of one, was left out
  StateHash state;             // after the last record
};

class LogFork {
 public:
  LogFork(FileSystem& files, ForkSettings settings) : files_(files), settings_(std::move(settings)) {}

  /// Begins with the state in this snapshot of the old log; the new one gets it as its own. REQUIRES: before the first
  /// batch; the file stays until write_out(). Errors: not_found where the end is to be before it; damaged, unsupported,
  /// io_failed.
  Result<void> begin_with(const std::string& snapshot);
  /// The next batch, with the boot id of its segment. False: what is to be kept ends before, in or with it; the batches
  /// behind it are not wanted. Errors: `damaged` where it does not follow the one before, its records cannot be read or make
  /// another state; io_failed, no_space.
  Result<bool> add(const BatchHeader& header, std::span<const std::byte> body);
  /// Completes the files and makes them durable under their ".new" names. Errors: io_failed, no_space.
  Result<void> write_out();
  /// Gives the files their names, durably. Repeatable, by another process too. Errors: io_failed.
  static Result<void> take_place(FileSystem& files, const std::string& directory);
  /// Removes files that were written and did not take their place.
  static Result<void> discard(FileSystem& files, const std::string& directory);

  const ForkSummary& summary() const noexcept { return summary_; }

 private:
  Result<void> begin_segment(const BatchHeader& header);
  Result<void> append(BatchHeader header, std::span<const std::byte> body);
  Result<void> end_segment();
  Result<void> write_header(const SegmentHeader& header);
  Result<void> write_mark();
  Result<void> write_snapshot();

  FileSystem& files_;
  ForkSettings settings_;
  StateHasher hasher_;
  ForkSummary summary_;
  std::string snapshot_;     // its path; empty: none
  std::uint64_t epoch_ = 1;  // no batch has a lower one
  std::vector<SegmentHeader> headers_;
  std::unique_ptr<File> file_;  // of the last header's segment
  SegmentEnd end_;              // where that one ends
  ClockPoint clocks_;
  std::vector<std::byte> batch_;
};

}  // namespace holdfast
