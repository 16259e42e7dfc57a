// How much of the log is kept: which segments may go, and whether a sink holds too much. Pure functions; any thread.
//
//   segments   1     2     3     4     5     6 live
//              |-----|-----|-----|-----|-----|--->
//                       ^           ^        ^
//                       |           |        older of the two snapshots that are kept
//                       |           lowest acknowledgement of a sink
//                       a reader's hold                                    segment 1 may go
#pragma once

#include "protocol/types.h"

#include <cstddef>
#include <optional>
#include <span>

namespace holdfast {

/// A segment that is there, as far as this is concerned.
struct KeptSegment {
  std::uint64_t number = 0;
  Lsn first_lsn;
  Lsn last_lsn;  // below first_lsn: it has no record
  std::uint64_t bytes = 0;
  HoldTime sealed_at{};  // the live one's does not matter
};

/// What must stay: everything above each of these. Nothing: no such hold.
struct RetentionHolds {
  std::optional<Lsn> older_snapshot;  // the older of the two that are kept; without it nothing may go
  std::optional<Lsn> sinks;           // the lowest that a registered sink has acknowledged
  std::optional<Lsn> readers;         // the lowest that somebody who reads a snapshot will ask for next, less one
};

/// What is kept while no sink is registered: as much as either of the first two says, and about so much at most.
struct RetentionRules {
  std::uint64_t keep_bytes = 1_GiB;
  Millis keep_age = std::chrono::hours(24);
  std::uint64_t bytes_max = 16_GiB;
};

/// How many segments, from the oldest on, may be removed now. `segments`: in order, the live one last, which always stays.
std::size_t removable_segments(std::span<const KeptSegment> segments, const RetentionHolds& holds,
                               const RetentionRules& rules, HoldTime now) noexcept;

enum class RetentionLevel : std::uint8_t { ok, alarm, full };
inline constexpr std::uint64_t kRetentionAlarmPercent = 70;

/// Where so many bytes of the log, kept for a sink alone, stand against the most there may be.
RetentionLevel retention_level(std::uint64_t held_bytes, std::uint64_t bytes_max) noexcept;

}  // namespace holdfast
