// One reservation in 48 bytes:
//
//    0  id         16 bytes
//   16  user        8 bytes   a number, or the handle of a longer name in the pool of names; next free slot when free
//   24  created    40 bits    ms on the hold clock since the item's version was loaded
//       bits       24 bits    state 3, user kind 2, exclusive 1, quantity 16 (0: in the side table), spare 2
//   32  time       40 bits    ms since the load: deadline when RESERVED (all ones: none), time of ending when ended
//       sequence   24 bits    low part of the item's sequence at the last change
//   40  last LSN   48 bits    of the last change, or top bit and the ordinal of its group until the log has told it
//       sequence   16 bits    high part
//
// Plain data; the meaning is kept by ItemRows.
#pragma once

#include "server/ask_memory.h"
#include "storage/record.h"

namespace holdfast {

/// A user as a row keeps it: a number, or the handle of a longer name in UserNames.
struct UserRef {
  std::uint64_t value = 0;
  UserId::Kind kind = UserId::Kind::number;
};

/// Index of a row within an item version. Freed slots are used again.
using RowSlot = Strong<struct SlotTag, std::uint32_t>;

class Row {
 public:
  static constexpr std::uint64_t kTimeMax = (std::uint64_t{1} << 40) - 2;
  static constexpr std::uint64_t kNoDeadline = kTimeMax + 1;
  static constexpr std::uint64_t kSequenceMax = (std::uint64_t{1} << 40) - 1;
  static constexpr std::uint64_t kLsnMax = (std::uint64_t{1} << 47) - 1;
  static constexpr std::int64_t kInlineQuantityMax = (1 << 16) - 1;

  ReservationId id;

  UserRef user() const noexcept { return {user_, static_cast<UserId::Kind>(bits(kKindShift, 3))}; }
  void set_user(UserRef user) noexcept {
    user_ = user.value;
    set_bits(kKindShift, 3, static_cast<std::uint64_t>(user.kind));
  }
  /// A free row names the next free one where a row in use has its user.
  std::uint32_t next_free() const noexcept { return static_cast<std::uint32_t>(user_); }
  void set_next_free(std::uint32_t slot) noexcept { user_ = slot; }

  std::uint64_t created() const noexcept { return created_and_bits_ & kMask40; }
  void set_created(std::uint64_t ms) noexcept { created_and_bits_ = (created_and_bits_ & ~kMask40) | ms; }

  ReservationState state() const noexcept { return static_cast<ReservationState>(bits(kStateShift, 7)); }
  void set_state(ReservationState state) noexcept { set_bits(kStateShift, 7, static_cast<std::uint64_t>(state)); }
  bool exclusive() const noexcept { return bits(kExclusiveShift, 1) != 0; }
  void set_exclusive(bool exclusive) noexcept { set_bits(kExclusiveShift, 1, exclusive ? 1 : 0); }
  /// 0 when the quantity does not fit here.
  std::int64_t inline_quantity() const noexcept { return static_cast<std::int64_t>(bits(kQuantityShift, 0xffff)); }
  void set_inline_quantity(std::int64_t quantity) noexcept {
    set_bits(kQuantityShift, 0xffff, static_cast<std::uint64_t>(quantity));
  }

  std::uint64_t time() const noexcept { return time_and_sequence_ & kMask40; }
  void set_time(std::uint64_t ms) noexcept { time_and_sequence_ = (time_and_sequence_ & ~kMask40) | ms; }

  Sequence sequence() const noexcept { return Sequence(time_and_sequence_ >> 40 | (lsn_and_sequence_ >> 48) << 24); }
  void set_sequence(Sequence sequence) noexcept {
    time_and_sequence_ = (time_and_sequence_ & kMask40) | sequence.value() << 40;
    lsn_and_sequence_ = (lsn_and_sequence_ & kMask48) | (sequence.value() >> 24) << 48;
  }

  /// The LSN of the last change; none while only its group is known.
  Lsn lsn() const noexcept { return Lsn(group_is_pending() ? 0 : lsn_and_sequence_ & kMask48); }
  GroupOrdinal pending_group() const noexcept {
    return GroupOrdinal(group_is_pending() ? lsn_and_sequence_ & kLsnMax : 0);
  }
  void set_lsn(Lsn lsn) noexcept { set_position(lsn.value()); }
  void set_pending_group(GroupOrdinal group) noexcept { set_position(kPendingBit | group.value()); }

  /// Asks for the memory of the id, or of the user, which may be on another cache line.
  void prefetch_id() const noexcept { ask_memory(&id); }
  void prefetch_user() const noexcept { ask_memory(&user_); }

  bool live() const noexcept { return state() == ReservationState::reserved || state() == ReservationState::confirmed; }
  bool ended() const noexcept { return state() >= ReservationState::released; }

 private:
  static constexpr std::uint64_t kMask40 = (std::uint64_t{1} << 40) - 1;
  static constexpr std::uint64_t kMask48 = (std::uint64_t{1} << 48) - 1;
  static constexpr std::uint64_t kPendingBit = std::uint64_t{1} << 47;
  static constexpr int kStateShift = 40;
  static constexpr int kKindShift = 43;
  static constexpr int kExclusiveShift = 45;
  static constexpr int kQuantityShift = 46;

  std::uint64_t bits(int shift, std::uint64_t mask) const noexcept { return created_and_bits_ >> shift & mask; }
  void set_bits(int shift, std::uint64_t mask, std::uint64_t value) noexcept {
    created_and_bits_ = (created_and_bits_ & ~(mask << shift)) | value << shift;
  }
  bool group_is_pending() const noexcept { return (lsn_and_sequence_ & kPendingBit) != 0; }
  void set_position(std::uint64_t position) noexcept { lsn_and_sequence_ = (lsn_and_sequence_ & ~kMask48) | position; }

  std::uint64_t user_ = 0;
  std::uint64_t created_and_bits_ = 0;
  std::uint64_t time_and_sequence_ = 0;
  std::uint64_t lsn_and_sequence_ = 0;
};
static_assert(sizeof(Row) == 48);

}  // namespace holdfast
