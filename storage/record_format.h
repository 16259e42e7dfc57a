// Constants of a record's bytes; storage/README.md draws them. Any thread.
#pragma once

#include "storage/limits.h"

namespace holdfast::record_format {

/// length u16, type u8, flags u8, time offset u16.
inline constexpr std::size_t kHeaderBytes = 6;

/// Types with this bit may be skipped by readers that do not know them; all others may not.
inline constexpr std::uint8_t kIgnorable = 0x80;

inline constexpr std::uint8_t kClock = 0x01;
inline constexpr std::uint8_t kForget = 0x02;
inline constexpr std::uint8_t kDefaultReturns = 0x03;
inline constexpr std::uint8_t kItem = 0x10;         // + ItemEvent
inline constexpr std::uint8_t kReservation = 0x20;  // + ReservationEvent

inline constexpr std::uint8_t kFamilyMask = 0x70;
inline constexpr std::uint8_t kEventMask = 0x0f;
inline constexpr std::uint8_t kItemEventMax = 12;
inline constexpr std::uint8_t kReservationEventMax = 7;

// Flags of item records.
inline constexpr std::uint8_t kByWindow = 0x01;
inline constexpr std::uint8_t kReturnsHeld = 0x02;
inline constexpr std::uint8_t kFenced = 0x04;
inline constexpr std::uint8_t kScopeSale = 0x08;
inline constexpr std::uint8_t kItemFlags = 0x0f;

// Flags of reservation records.
inline constexpr std::uint8_t kExclusive = 0x01;
inline constexpr std::uint8_t kWriteOff = 0x02;
inline constexpr std::uint8_t kHasDeadline = 0x04;
inline constexpr unsigned kUserKindShift = 4;  // two bits: 0 number, 1 uuid, 2 bytes
inline constexpr std::uint8_t kReservationFlags = 0x37;

// Flags of default-returns records.
inline constexpr std::uint8_t kDefaultHeld = 0x01;

static_assert(kClockRecordBytes == kHeaderBytes + 16);

}  // namespace holdfast::record_format
