// The recovery table: what an invalid batch means, by where it is and what lies around it. storage/README.md has the
// table; each row is a value of RecoveryRow. No state; one thread.
#pragma once

#include "storage/segment_reader.h"

namespace holdfast {

enum class RecoveryRow : std::uint8_t {
  // The log ends here.
  clean_end,       // zeros to the end of the file
  torn,            // a batch of which some sectors never arrived: dropped
  zero_tail,       // something in the zeros behind the last batch: dropped
  unflushed_gap,   // not --fsync always: a batch that had not been flushed is missing, later ones are dropped
  unused_segment,  // the last segment was prepared and never begun
  // The start is refused.
  mid_log,       // damage before the end that the next segment's header pins
  below_floor,   // what the mark, the snapshot or a sink proves to be durable is damaged or gone
  later_batch,   // a later batch was written when the damaged one was durable
  rot,           // all sectors of the damaged batch arrived: not torn
  out_of_order,  // a sound batch that does not belong here
  missing_file,  // a segment's number is missing, or segments where a mark says that there are some
  bad_header,    // a segment's header is damaged, and it is not an unused last one
  foreign_file,  // a file of another log, or of another place in this one
  bad_record,    // a sound batch holds a record that cannot be read or applied
  read_failed,   // the device could not read
  bad_snapshot,  // no snapshot is sound, or it needs a newer version
};
inline constexpr std::size_t kRecoveryRows = 16;
/// "mid_log" and so on; a refusal's text begins with it.
std::string_view row_name(RecoveryRow row) noexcept;

/// A refusal: its row's name, what was found and where, and what to do.
Error refuse(RecoveryRow row, ErrorCode code, const std::string& path, std::uint64_t offset, std::string_view what);

/// How the last segment ends.
struct TailDecision {
  RecoveryRow row = RecoveryRow::clean_end;
  std::uint64_t dropped_begin = 0;  // the bytes to be copied aside; none when equal
  std::uint64_t dropped_end = 0;
};

/// Decides on what was found where the next batch of the last segment should begin. `end`: its valid part. An error is
/// a refusal, or a failed read. REQUIRES: found is not valid.
Result<TailDecision> decide_tail(FileWindow& window, const SegmentHeader& header, const SegmentEnd& end,
                                 const FoundBatch& found, Lsn floor);

/// Whether any block of the file begins with a sound batch header, of whatever log.
Result<bool> has_any_batch(FileWindow& window, std::uint64_t from);

}  // namespace holdfast
