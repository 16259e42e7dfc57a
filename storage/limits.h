// Every bound of the log in one place, and how the bounds relate. Constants; any thread.
#pragma once

#include "protocol/types.h"
#include "storage/file_system.h"

#include <algorithm>

namespace holdfast {

/// Length of a segment's file, `--segment-bytes`; a multiple of kBlockBytes.
inline constexpr std::uint64_t kSegmentBytesMin = 64_KiB;
inline constexpr std::uint64_t kSegmentBytesDefault = 64_MiB;
inline constexpr std::uint64_t kSegmentBytesMax = 1_GiB;

/// A group is sealed and a batch is full at these sizes, or earlier where segments are small.
inline constexpr std::uint64_t kGroupBytesTarget = 1_MiB;
inline constexpr std::uint64_t kBatchBytesTarget = 4_MiB;
/// No batch is longer than this with its header and padding. One group may exceed the targets, since a step's records
/// stay together; a batch larger than a segment gets a segment of its own length.
inline constexpr std::uint64_t kBatchBytesMax = 64_MiB;

/// The size at which a group asks to be sealed.
constexpr std::uint64_t group_bytes_target(std::uint64_t segment_bytes) noexcept {
  return std::min(kGroupBytesTarget, segment_bytes / 4);
}
/// Up to this size sealed groups are put into one batch.
constexpr std::uint64_t batch_bytes_target(std::uint64_t segment_bytes) noexcept {
  return std::min(kBatchBytesTarget, segment_bytes / 2);
}

/// What a group may hold at most: a batch is that, its header and its padding.
inline constexpr std::uint64_t kGroupRecordBytesMax = kBatchBytesMax - 2 * kBlockBytes;

/// No record on disk is longer. An item's record is the longest one: name, sale, product, currency and reason.
inline constexpr std::size_t kRecordBytesMax = 1024;
/// No record of a reservation is longer, with the longest user.
inline constexpr std::size_t kReservationRecordBytesMax = 256;
/// A CLOCK record.
inline constexpr std::size_t kClockRecordBytes = 22;
/// Ended ids that one FORGET record may cover.
inline constexpr std::uint32_t kForgetCountMax = 1024;
/// The largest sequence number of an item.
inline constexpr std::uint64_t kSequenceMax = (std::uint64_t{1} << 40) - 1;

inline constexpr std::size_t kCurrencyBytesMax = 16;
inline constexpr std::size_t kLabelBytesMax = 128;  // SALE, PRODUCT
inline constexpr std::size_t kReasonBytesMax = 256;

/// A flush that takes longer is warned of.
inline constexpr Millis kSlowFlush{1000};
/// The mark of an idle log is this old at most.
inline constexpr Millis kMarkEvery{30'000};
/// The live segment is compared with its path this often.
inline constexpr Millis kIdentityEvery{5000};
/// Free space is asked for this often, and while it is low.
inline constexpr Millis kSpaceEvery{5000};
inline constexpr Millis kLowSpaceEvery{1000};
/// `--fsync everysec`.
inline constexpr Millis kFlushEvery{1000};
/// Back-off of what failed outside the live segment.
inline constexpr Millis kRetryFirst{1000};
inline constexpr Millis kRetryLast{30'000};
inline constexpr Millis kDowntimeMaxDefault{std::chrono::hours(24)};

/// From this share of the live segment on, a missing next segment means -OVERLOADED.
inline constexpr std::uint64_t kNextReadyByPercent = 75;
/// Zeros are written and flushed in pieces of this size.
inline constexpr std::size_t kZeroFillBytes = 4_MiB;
/// Copies of dropped suffixes that are kept; the oldest go first.
inline constexpr std::size_t kBrokenCopiesMax = 8;

static_assert(kSegmentBytesMin % kBlockBytes == 0 && kSegmentBytesMin >= 4 * kBlockBytes);
static_assert(kSegmentBytesMin <= kSegmentBytesDefault && kSegmentBytesDefault <= kSegmentBytesMax);
static_assert(kBatchBytesTarget + kBlockBytes <= kBatchBytesMax && kBatchBytesMax + kBlockBytes <= kSegmentBytesMax);
static_assert(kGroupBytesTarget <= kBatchBytesTarget);
static_assert(batch_bytes_target(kSegmentBytesMin) + 2 * kBlockBytes <= kSegmentBytesMin);
static_assert(kRecordBytesMax <= UINT16_MAX);

}  // namespace holdfast
