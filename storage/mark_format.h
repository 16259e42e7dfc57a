// Constants of the mark: a file of two slots, a block each, written in turn. storage/README.md draws them. Any thread.
#pragma once

#include "storage/hold_clock.h"
#include "storage/log_identity.h"

namespace holdfast {

/// How far the log was durable, and when.
struct Mark {
  LogId log_id{};
  std::uint64_t counter = 0;  // of two slots the higher one is the newer
  Lsn durable_lsn;
  std::uint64_t incarnation = 0;
  ClockPoint clocks;
};

namespace mark_format {

inline constexpr std::uint64_t kMagic = 0x4b52414d444c4f48;  // "HOLDMARK"
inline constexpr std::uint16_t kVersion = 1;
inline constexpr std::size_t kSlots = 2;
inline constexpr std::size_t kSlotBytes = 128;  // used, of a block each

}  // namespace mark_format
}  // namespace holdfast
