#include "storage/recovery_tail.h"

#include "protocol/check.h"

#include <optional>

namespace holdfast {
namespace {

using segment_format::kBatchHeaderBytes;
using segment_format::padded_bytes;

constexpr std::size_t kSectorBytes = 512;
constexpr std::array<std::string_view, kRecoveryRows> kRowNames = {
    "clean_end",    "torn",        "zero_tail",   "unflushed_gap", "unused_segment", "mid_log",
    "below_floor",  "later_batch", "rot",         "out_of_order",  "missing_file",   "bad_header",
    "foreign_file", "bad_record",  "read_failed", "bad_snapshot"};

/// What lies behind the place where the log stops being valid.
struct Behind {
  std::uint64_t end = 0;             // of the last block that is not all zero
  std::optional<BatchHeader> batch;  // the sound header that proves most, if any
};

Result<Behind> look_behind(FileWindow& window, std::uint64_t from, std::uint64_t batches_from) {
  Behind behind;
  behind.end = from;
  for (std::uint64_t at = from; at < window.size(); at += kBlockBytes) {
    const auto block = window.view(at, kBlockBytes);
    if (!block) return refuse(RecoveryRow::read_failed, block.error().code(), window.path(), at, block.error().text());
    if (all_zero(*block)) continue;
    behind.end = at + block->size();
    const auto header = at >= batches_from ? read_batch_header(*block) : std::nullopt;
    if (header && (!behind.batch || header->durable_lsn > behind.batch->durable_lsn)) behind.batch = header;
  }
  return behind;
}

/// Whether a sector of [begin, end) is all zero: it was never written.
Result<bool> has_lost_sector(FileWindow& window, std::uint64_t begin, std::uint64_t end) {
  for (std::uint64_t at = begin; at < end; at += kSectorBytes) {
    const auto sector = window.view(at, kSectorBytes);
    if (!sector) return sector.error();
    if (sector->size() < kSectorBytes || all_zero(*sector)) return true;
  }
  return false;
}

bool header_is_sound(BatchFinding finding) noexcept {
  return finding == BatchFinding::broken_body || finding == BatchFinding::file_ends;
}

}  // namespace

std::string_view row_name(RecoveryRow row) noexcept { return kRowNames[static_cast<std::size_t>(row)]; }

Error refuse(RecoveryRow row, ErrorCode code, const std::string& path, std::uint64_t offset, std::string_view what) {
  return Error::format(code, "{}: {} at offset {}: {}. Nothing was changed; see holdfastctl log verify", row_name(row),
                       path, offset, what);
}

Result<TailDecision> decide_tail(FileWindow& window, const SegmentHeader& header, const SegmentEnd& end,
                                 const FoundBatch& found, Lsn floor) {
  CHECK(found.finding != BatchFinding::valid && found.offset == end.length_bytes);
  const auto refusal = [&](RecoveryRow row, std::string_view what) {
    return refuse(row, ErrorCode::damaged, window.path(), found.offset, what);
  };
  switch (found.finding) {
    case BatchFinding::foreign:
      return refusal(RecoveryRow::out_of_order, "a batch of another log, segment or start");
    case BatchFinding::out_of_order:
      return refusal(RecoveryRow::out_of_order, "a batch that continues another one");
    case BatchFinding::too_long:
      return refusal(RecoveryRow::out_of_order, "a batch longer than its segment allows");
    case BatchFinding::unknown:
      return refuse(RecoveryRow::bad_record, ErrorCode::unsupported, window.path(), found.offset,
                    "a batch of a newer Holdfast");
    default:
      break;
  }
  if (floor > end.last_lsn) {
    const auto text = fmt::format("LSN {} was durable, but the log ends with {}", floor.value(), end.last_lsn.value());
    return refusal(RecoveryRow::below_floor, text);
  }
  // A cut file has no header to believe; only a batch that began inside it has.
  const bool sound = header_is_sound(found.finding) && found.header.count > 0;
  const std::uint64_t own_bytes = sound ? padded_bytes(found.header.body_bytes) : kBlockBytes;
  const auto behind = look_behind(window, found.offset, found.offset + own_bytes);
  if (!behind) return behind.error();
  TailDecision decision{RecoveryRow::clean_end, found.offset, behind->end};
  if (behind->end == found.offset) return decision;
  if (behind->batch) {
    const BatchHeader& later = *behind->batch;
    if (later.log_tag != log_tag(header.log.id) || later.segment != header.number) {
      return refusal(RecoveryRow::out_of_order, "a batch of another place lies behind it");
    }
    if (later.durable_lsn > end.last_lsn)
      return refusal(RecoveryRow::later_batch, "it is damaged, later batches are not");
    decision.row = RecoveryRow::unflushed_gap;
    return decision;
  }
  decision.row = found.finding == BatchFinding::zeros ? RecoveryRow::zero_tail : RecoveryRow::torn;
  const std::uint64_t written = sound ? kBatchHeaderBytes + found.header.body_bytes : behind->end - found.offset;
  const auto lost = has_lost_sector(window, found.offset, found.offset + written);
  if (!lost) return lost.error();
  if (!*lost) return refusal(RecoveryRow::rot, "it was written in full and is damaged since");
  return decision;
}

Result<bool> has_any_batch(FileWindow& window, std::uint64_t from) {
  const auto behind = look_behind(window, from, from);
  if (!behind) return behind.error();
  return behind->batch.has_value();
}

}  // namespace holdfast
