// Reads a segment batch by batch and says exactly what it found where a batch should begin. Survives any bytes. What
// that means for the log is decided elsewhere (recovery_tail.h). One thread.
#pragma once

#include "storage/file_window.h"
#include "storage/segment_format.h"

namespace holdfast {

/// What lies at the offset where the next batch should begin.
enum class BatchFinding : std::uint8_t {
  valid,
  zeros,          // a block of zeros: nothing was written, or it was lost
  file_ends,      // the file ends here, or before the batch does
  broken_header,  // no batch header, or its sum is wrong
  unknown,        // a header of a version or with flags that this one does not know
  foreign,        // a sound header of another log, segment or incarnation
  out_of_order,   // a sound header whose LSN or chain does not continue what is before it
  too_long,       // a sound header whose length does not fit the segment
  broken_body,    // a sound header, and a body whose sum or padding is wrong
};
/// "broken_header" and so on.
std::string_view finding_name(BatchFinding finding) noexcept;

struct FoundBatch {
  BatchFinding finding{};
  std::uint64_t offset = 0;
  BatchHeader header;                // where the header is sound
  std::span<const std::byte> body;   // valid only: the records; until the next call
  std::span<const std::byte> whole;  // valid only: as on disk
};

/// The header in a segment's first block. Errors: `damaged` (a block of zeros, a wrong sum or impossible values),
/// `unsupported` (a newer format). The text does not name the file.
Result<SegmentHeader> read_segment_header(std::span<const std::byte> block);

/// A batch header whose magic and sum are right; fields are not checked further. Reads kBatchHeaderBytes.
/// Nothing when it is none.
std::optional<BatchHeader> read_batch_header(std::span<const std::byte> bytes);

/// Whether this version reads batches of the format and flags that a sound header shows. REQUIRES: kBatchHeaderBytes.
bool known_batch_format(std::span<const std::byte> header) noexcept;

/// Whether a batch's bytes behind its header, padding included, are those that it was sealed with.
bool body_is_sound(const BatchHeader& header, std::span<const std::byte> padded) noexcept;

/// Whether all bytes are zero.
bool all_zero(std::span<const std::byte> bytes) noexcept;

class SegmentReader {
 public:
  /// Begins after the header block. `window` outlives this.
  SegmentReader(FileWindow& window, const SegmentHeader& header);

  /// The next batch; moves on only over a valid one. An error is a failed read.
  Result<FoundBatch> next();

  /// Where the valid part ends so far, as a successor's header would pin it.
  const SegmentEnd& end() const noexcept { return end_; }
  const StateHash& state() const noexcept { return state_; }
  const ClockPoint& clocks() const noexcept { return clocks_; }

 private:
  BatchFinding judge_header(const BatchHeader& header) const noexcept;

  FileWindow& window_;
  SegmentHeader header_;
  SegmentEnd end_;
  StateHash state_;
  ClockPoint clocks_;
};

}  // namespace holdfast
