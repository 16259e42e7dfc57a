#include "storage/log_retention.h"

#include <algorithm>

namespace holdfast {
namespace {

/// Whether everything in the segment is at or below each hold.
bool is_covered(const KeptSegment& segment, const RetentionHolds& holds) noexcept {
  for (const auto& hold : {holds.older_snapshot, holds.sinks, holds.readers}) {
    if (hold && segment.last_lsn > *hold) return false;
  }
  return true;
}

}  // namespace

std::size_t removable_segments(std::span<const KeptSegment> segments, const RetentionHolds& holds,
                               const RetentionRules& rules, HoldTime now) noexcept {
  if (!holds.older_snapshot || segments.empty()) return 0;
  std::uint64_t bytes_after = 0;  // of the segments behind the one at hand
  for (const KeptSegment& segment : segments) bytes_after += segment.bytes;
  std::size_t count = 0;
  for (; count + 1 < segments.size(); ++count) {
    const KeptSegment& segment = segments[count];
    bytes_after -= segment.bytes;
    if (!is_covered(segment, holds)) break;
    const bool young = now - segment.sealed_at < rules.keep_age;
    const bool keep = bytes_after < rules.keep_bytes || young;
    if (!holds.sinks && keep && bytes_after < rules.bytes_max) break;
  }
  return count;
}

RetentionLevel retention_level(std::uint64_t held_bytes, std::uint64_t bytes_max) noexcept {
  if (held_bytes >= bytes_max) return RetentionLevel::full;
  const std::uint64_t alarm_from =
      bytes_max / 100 * kRetentionAlarmPercent + bytes_max % 100 * kRetentionAlarmPercent / 100;
  return held_bytes >= alarm_from ? RetentionLevel::alarm : RetentionLevel::ok;
}

}  // namespace holdfast
