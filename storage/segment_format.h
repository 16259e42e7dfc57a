// Constants and headers of a segment's bytes; storage/README.md draws them. Values; any thread.
#pragma once

#include "storage/hold_clock.h"
#include "storage/limits.h"
#include "storage/log_identity.h"
#include "storage/state_hash.h"

namespace holdfast {

/// Where a segment's predecessor ends: pinned by the successor's header.
struct SegmentEnd {
  std::uint64_t segment = 0;  // 0: there is none
  Lsn last_lsn;
  std::uint64_t length_bytes = 0;  // of its valid part, header included
  std::uint64_t sum = 0;           // of its last batch's body: where the chain stands
  bool operator==(const SegmentEnd&) const noexcept = default;
};

/// The first block of a segment.
struct SegmentHeader {
  LogIdentity log;
  std::uint64_t number = 0;  // dense from 1
  std::uint64_t segment_bytes = 0;
  Lsn first_lsn;
  std::uint64_t incarnation = 0;
  ClockPoint clocks;
  SegmentEnd predecessor;
  StateHash state;             // before its first record
  bool downtime_open = false;  // its start did not believe the downtime, and no batch has said so yet
};

/// The first bytes of a batch.
struct BatchHeader {
  std::uint64_t log_tag = 0;  // the first 8 bytes of the log id
  std::uint64_t segment = 0;
  std::uint64_t epoch = 0;
  Lsn first_lsn;
  std::uint32_t count = 0;
  std::uint32_t body_bytes = 0;  // of the records, without padding
  ClockPoint clocks;             // boot_id is the segment's
  StateHash state;               // after its last record
  Lsn durable_lsn;               // what was durable when it was written
  std::uint64_t previous_sum = 0;
  std::uint64_t body_sum = 0;

  Lsn last_lsn() const noexcept { return Lsn(first_lsn.value() + count - 1); }
};

/// The first 8 bytes of the id.
std::uint64_t log_tag(const LogId& id) noexcept;

namespace segment_format {

inline constexpr std::uint64_t kSegmentMagic = 0x474f4c46444c4f48;  // "HOLDFLOG"
inline constexpr std::uint32_t kBatchMagic = 0x54424648;            // "HFBT"
inline constexpr std::uint16_t kVersion = 1;
inline constexpr std::size_t kBatchHeaderBytes = 128;
/// Flag of the segment header.
inline constexpr std::uint32_t kDowntimeOpen = 1;

/// A batch with this body takes so many bytes of the segment.
constexpr std::uint64_t padded_bytes(std::uint64_t body_bytes) noexcept {
  return (kBatchHeaderBytes + body_bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
}

}  // namespace segment_format
}  // namespace holdfast
