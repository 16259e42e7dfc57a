// Constants of a snapshot's bytes; storage/README.md draws them. Any thread.
#pragma once

#include "storage/limits.h"
#include "storage/record_parts.h"

namespace holdfast::snapshot_format {

inline constexpr std::uint64_t kMagic = 0x50414e53444c4f48;   // "HOLDSNAP"
inline constexpr std::uint32_t kChunkMagic = 0x48434e53;      // "SNCH"
inline constexpr std::uint32_t kLastChunkMagic = 0x444e4553;  // "SEND"
inline constexpr std::uint16_t kVersion = 1;
/// Where the header has the log's secret: 16 bytes that no sum covers, so that they can be blanked for others.
inline constexpr std::size_t kSecretOffset = 184;

inline constexpr std::size_t kChunkHeaderBytes = 16;
/// A chunk is closed from this size on, and never has more than the other.
inline constexpr std::size_t kChunkBytesTarget = 256_KiB;
inline constexpr std::size_t kChunkBytesMax = 1_MiB;
/// No entry is longer; none lies in two chunks.
inline constexpr std::size_t kEntryBytesMax = 4_KiB;

enum class Entry : std::uint8_t {
  log = 0x01,
  name = 0x02,
  version = 0x03,
  item = 0x10,
  row = 0x11,
  order = 0x12,
  adjust = 0x13,
  item_end = 0x14,
  end = 0x20,
};

// Flags of `log` and `item`.
inline constexpr std::uint8_t kReturnsHeld = 0x01;
inline constexpr std::uint8_t kFenced = 0x02;
inline constexpr std::uint8_t kScopeSale = 0x04;        // of the definition
inline constexpr std::uint8_t kLoadedScopeSale = 0x08;  // of the definition as loaded
// Flags of `row`.
inline constexpr std::uint8_t kStateMask = 0x07;
inline constexpr std::uint8_t kExclusive = 0x08;
inline constexpr unsigned kUserKindShift = 4;  // two bits
inline constexpr std::uint8_t kNewestExpired = 0x40;
inline constexpr std::uint8_t kNewestOfSale = 0x80;

/// Slots that one `order` entry names at most.
inline constexpr std::size_t kOrderSlotsMax = 256;

static_assert(kChunkBytesTarget + kEntryBytesMax <= kChunkBytesMax);
static_assert(1 + 5 * kOrderSlotsMax + 10 <= kEntryBytesMax);
static_assert(2 * kDefinitionBytesMax + 2 + kItemNameBytesMax + 200 <= kEntryBytesMax);

}  // namespace holdfast::snapshot_format
