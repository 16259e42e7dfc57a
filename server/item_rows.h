// The reservations of one item version: rows, found by id and by user, with what is due and what is oldest.
//
// A user's cell in the index leads to his one live row; to his newest EXPIRED one when none is live and nothing of his
// was reserved since; or, with several live rows, to an entry that counts them and begins two lists, RESERVED and
// CONFIRMED, newest first. So no operation walks a user's rows. One thread at a time.
#pragma once

#include "server/cell_index.h"
#include "server/row_chunks.h"
#include "server/user_names.h"

#include <algorithm>
#include <span>

namespace holdfast {

/// What the items of one shard share.
struct RowPools {
  explicit RowPools(std::uint64_t secret_seed) : seed(secret_seed), names(secret_seed) {}
  std::uint64_t seed;
  CellPool cells;
  UnitPool several{8};
  UserNames names;
};

/// A user's reservations of one item, as far as commands without an id need them.
struct UserRows {
  std::int64_t units = 0;       // of all live rows
  std::uint32_t reserved = 0;   // rows
  std::uint32_t confirmed = 0;  // rows
  std::optional<RowSlot> newest_reserved;
  std::optional<RowSlot> newest_confirmed;
  std::optional<RowSlot> newest_expired;  // only when nothing is live and nothing was reserved since
  std::uint32_t live() const noexcept { return reserved + confirmed; }
};

class ItemRows {
 public:
  /// The highest slot: one bit less than a cell of the user index has.
  static constexpr std::uint32_t kSlotMax = (std::uint32_t{1} << 31) - 1;

  /// `base`: times in rows count from here. `pools` outlives this.
  ItemRows(RowPools& pools, HoldTime base);
  ~ItemRows();

  std::optional<RowSlot> find(const ReservationId& id) const;
  UserRows find_user(const UserId& user) const;
  /// The newer of his newest RESERVED and CONFIRMED ones, by creation.
  std::optional<RowSlot> newest_live(const UserRows& rows) const;

  // For whoever will look for a user or an id, or add it, a little later: ask_* asks the memory for the first of what that
  // touches and returns the hash with which ask_*_cells asks for the rest.
  std::uint64_t ask_user(const UserId& user) const noexcept {
    const std::uint64_t hash = pools_.names.hash(user);
    users_.ask_bucket(hash);
    return hash;
  }
  void ask_user_cells(std::uint64_t hash) const noexcept { users_.ask_cells(hash); }
  std::uint64_t ask_id(const ReservationId& id) const noexcept {
    const std::uint64_t hash = hash_id(id);
    ids_.ask_bucket(hash);
    return hash;
  }
  void ask_id_cells(std::uint64_t hash) const noexcept { ids_.ask_cells(hash); }

  const Row& row(RowSlot slot) const noexcept { return chunks_.at(slot); }
  UserId user(RowSlot slot) const noexcept { return pools_.names.user_of(row(slot).user()); }
  bool is_user(RowSlot slot, const UserId& user) const noexcept {
    return pools_.names.is_user_of(row(slot).user(), user);
  }
  std::int64_t quantity(RowSlot slot) const noexcept { return chunks_.quantity(slot); }
  HoldTime created(RowSlot slot) const noexcept { return base_ + Millis(row(slot).created()); }
  /// Of a RESERVED row; nothing when it has none.
  std::optional<HoldTime> deadline(RowSlot slot) const noexcept;
  HoldTime ended_at(RowSlot slot) const noexcept { return base_ + Millis(row(slot).time()); }
  /// Whether a row can hold this time.
  bool fits(HoldTime time) const noexcept;
  HoldTime base() const noexcept { return base_; }

  // Changes. Each takes the item's sequence after it.

  struct New {
    ReservationId id;
    UserId user;
    std::int64_t quantity = 0;
    HoldTime created;
    std::optional<HoldTime> deadline;
    bool exclusive = false;
  };
  /// REQUIRES: the id is unknown, the times fit.
  RowSlot reserve(const New& row, Sequence sequence);
  /// REQUIRES: RESERVED.
  void confirm(RowSlot slot, Sequence sequence);
  /// REQUIRES: EXPIRED.
  void resume(RowSlot slot, bool exclusive, Sequence sequence);
  /// REQUIRES: live, and an ended state.
  /// A time of ending later than a row can hold is kept as the latest that it can.
  void end(RowSlot slot, ReservationState state, HoldTime now, Sequence sequence);
  /// REQUIRES: RESERVED.
  void extend(RowSlot slot, HoldTime deadline, Sequence sequence);
  /// REQUIRES: ended.
  void forget(RowSlot slot);

  // A snapshot's: everything that has to be told so that the same reservations stand as before.

  struct Kept {
    New row;
    ReservationState state{};
    HoldTime ended_at{};  // of an ended one
    Sequence sequence;
    Lsn lsn;
    bool is_newest_expired = false;
  };
  /// Whether RESUME without an id takes this one up.
  bool is_newest_expired(RowSlot slot) const;
  /// Calls `on_rows` with the slots of each list of a user who has several, oldest first.
  template <class OnSlots>
  void for_each_order(OnSlots on_slots) const;
  /// Takes a row over; slots between the last one and it are free. REQUIRES: the slot was never used, the id is unknown,
  /// times fit, and a newest EXPIRED one's user has nothing live.
  void restore(RowSlot slot, const Kept& kept);
  /// Puts a live row before the others of its state of a user with several; false when he has not.
  bool put_first(RowSlot slot);
  /// Slots below this one have been used.
  void use_slots_up_to(std::uint32_t end) { chunks_.use_up_to(end); }

  void set_lsn(RowSlot slot, Lsn lsn) noexcept { chunks_.at(slot).set_lsn(lsn); }
  void set_pending_group(RowSlot slot, GroupOrdinal group) noexcept { chunks_.at(slot).set_pending_group(group); }

  /// No row is due before this; HoldTime::max() when there is none.
  HoldTime deadline_bound() const noexcept;
  /// The RESERVED row with the earliest deadline, if it is due; nothing, too, when `looks` at blocks of rows run out.
  std::optional<RowSlot> earliest_due(HoldTime now, int& looks);
  std::optional<RowSlot> oldest_ended() { return chunks_.oldest_ended(); }

  std::uint32_t slots_end() const noexcept { return chunks_.end(); }
  std::uint64_t ended_count() const noexcept { return ended_count_; }
  std::uint64_t row_count() const noexcept { return ids_.size(); }
  /// Users with a live reservation.
  std::uint64_t live_users() const noexcept { return live_users_; }
  /// Whether this is the one row through which its user's live reservations are counted.
  bool represents_user(RowSlot slot) const;

  /// Gives memory back step by step, `steps` chunks or segments at a time; true when nothing is left.
  bool release_some(std::size_t steps);
  std::size_t row_bytes() const noexcept { return chunks_.bytes(); }
  std::size_t directory_bytes() const noexcept { return ids_.directory_bytes() + users_.directory_bytes(); }

 private:
  /// A user with several live rows.
  struct Several {
    std::int64_t units;
    std::uint32_t reserved;
    std::uint32_t confirmed;
    std::uint32_t reserved_head;
    std::uint32_t confirmed_head;
  };
  static constexpr std::uint32_t kSeveralUnits = sizeof(Several) / 8;
  static constexpr std::uint32_t kSeveralBit = kSlotMax + 1;  // of a cell's value: it names a Several

  std::uint64_t hash_id(const ReservationId& id) const noexcept;
  std::uint64_t elapsed(HoldTime time) const;    // since the base
  std::uint64_t to_offset(HoldTime time) const;  // the same, of a time that a row can hold
  Several& several(std::uint32_t cell);
  const Several& several(std::uint32_t cell) const;
  /// A row of the user whom a cell of the user index stands for.
  const Row& row_of_cell(std::uint32_t cell) const;
  std::optional<std::uint32_t> find_cell(std::uint64_t hash, const UserId& user) const;
  void insert_cell(std::uint64_t hash, RowSlot slot);
  /// The cell of a live row's user.
  std::uint32_t cell_of(RowSlot slot) const;

  void fill(RowSlot slot, const New& row, Sequence sequence);
  void insert_id(std::uint64_t hash, RowSlot slot);
  void add_live(RowSlot slot);
  void remove_live(RowSlot slot, bool keeps_cell);
  std::uint32_t make_several(RowSlot only);
  void push_front(Several& entry, RowSlot slot);
  void unlink(Several& entry, RowSlot slot);

  RowPools& pools_;
  HoldTime base_;
  RowChunks chunks_;
  CellIndex ids_;
  CellIndex users_;
  std::uint64_t ended_count_ = 0;
  std::uint64_t live_users_ = 0;
};

template <class OnSlots>
void ItemRows::for_each_order(OnSlots on_slots) const {
  std::vector<std::uint32_t> slots;
  const auto tell = [&](std::uint32_t head) {
    slots.clear();
    for (std::uint32_t slot = head; slot != RowChunks::Link::kEnd; slot = chunks_.link(RowSlot(slot)).older) {
      slots.push_back(slot);
    }
    if (slots.size() < 2) return;
    std::reverse(slots.begin(), slots.end());
    on_slots(std::span<const std::uint32_t>(slots));
  };
  for (std::uint32_t slot = 0; slot < slots_end(); ++slot) {
    if (!row(RowSlot(slot)).live()) continue;
    const auto cell = cell_of(RowSlot(slot));
    if ((cell & kSeveralBit) == 0) continue;
    const Several& entry = several(cell);
    if (slot == entry.reserved_head) tell(entry.reserved_head);
    if (slot == entry.confirmed_head) tell(entry.confirmed_head);
  }
}

}  // namespace holdfast
