#include "server/item_rows.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace holdfast {

ItemRows::ItemRows(RowPools& pools, HoldTime base)
    : pools_(pools), base_(base), ids_(pools.cells), users_(pools.cells) {}

ItemRows::~ItemRows() {
  while (!release_some(1024)) continue;
}

std::optional<RowSlot> ItemRows::find(const ReservationId& id) const {
  const auto value = ids_.find(hash_id(id), [&](std::uint32_t slot) { return row(RowSlot(slot)).id == id; });
  return value ? std::optional(RowSlot(*value)) : std::nullopt;
}

UserRows ItemRows::find_user(const UserId& user) const {
  UserRows found;
  const auto cell = find_cell(pools_.names.hash(user), user);
  if (!cell) return found;
  if ((*cell & kSeveralBit) != 0) {
    const Several& entry = several(*cell);
    found.units = entry.units;
    found.reserved = entry.reserved;
    found.confirmed = entry.confirmed;
    if (entry.reserved > 0) found.newest_reserved = RowSlot(entry.reserved_head);
    if (entry.confirmed > 0) found.newest_confirmed = RowSlot(entry.confirmed_head);
    return found;
  }
  const RowSlot slot(*cell);
  switch (row(slot).state()) {
    case ReservationState::reserved:
      found.newest_reserved = slot, found.reserved = 1;
      break;
    case ReservationState::confirmed:
      found.newest_confirmed = slot, found.confirmed = 1;
      break;
    default:
      found.newest_expired = slot;
      return found;
  }
  found.units = quantity(slot);
  return found;
}

std::optional<RowSlot> ItemRows::newest_live(const UserRows& rows) const {
  if (!rows.newest_reserved) return rows.newest_confirmed;
  if (!rows.newest_confirmed) return rows.newest_reserved;
  const Row& reserved = row(*rows.newest_reserved);
  const Row& confirmed = row(*rows.newest_confirmed);
  return confirmed.created() > reserved.created() ? rows.newest_confirmed : rows.newest_reserved;
}

std::optional<HoldTime> ItemRows::deadline(RowSlot slot) const noexcept {
  const std::uint64_t offset = row(slot).time();
  return offset == Row::kNoDeadline ? std::nullopt : std::optional(base_ + Millis(offset));
}

bool ItemRows::fits(HoldTime time) const noexcept {
  return time >= base_ && static_cast<std::uint64_t>((time - base_).count()) <= Row::kTimeMax;
}

RowSlot ItemRows::reserve(const New& row, Sequence sequence) {
  const std::uint64_t id_hash = hash_id(row.id);
  ids_.ask_cells(id_hash);
  const RowSlot slot = chunks_.take();
  fill(slot, row, sequence);
  chunks_.at(slot).set_state(ReservationState::reserved);
  chunks_.note_deadline(slot);
  add_live(slot);
  insert_id(id_hash, slot);
  return slot;
}

/// All but the state and the index of ids.
void ItemRows::fill(RowSlot slot, const New& row, Sequence sequence) {
  CHECK((slot.value() & kSeveralBit) == 0);
  Row& made = chunks_.at(slot);
  made.id = row.id;
  made.set_user(pools_.names.store(row.user));
  made.set_created(to_offset(row.created));
  made.set_time(row.deadline ? to_offset(*row.deadline) : Row::kNoDeadline);
  made.set_exclusive(row.exclusive);
  made.set_sequence(sequence);
  chunks_.set_quantity(slot, row.quantity);
}

void ItemRows::insert_id(std::uint64_t hash, RowSlot slot) {
  ids_.insert(
      hash, slot.value(), [this](std::uint32_t value) { return hash_id(chunks_.at(RowSlot(value)).id); },
      [this](std::uint32_t value) { chunks_.at(RowSlot(value)).prefetch_id(); });
}

void ItemRows::restore(RowSlot slot, const Kept& kept) {
  const std::uint64_t id_hash = hash_id(kept.row.id);
  ids_.ask_cells(id_hash);
  chunks_.take(slot);
  fill(slot, kept.row, kept.sequence);
  Row& made = chunks_.at(slot);
  made.set_state(kept.state);
  made.set_lsn(kept.lsn);
  insert_id(id_hash, slot);
  if (made.live()) {
    if (kept.state == ReservationState::reserved) chunks_.note_deadline(slot);
    return add_live(slot);
  }
  made.set_time(std::min(elapsed(kept.ended_at), Row::kTimeMax));
  ++ended_count_;
  chunks_.note_ended(slot);
  if (kept.is_newest_expired) insert_cell(pools_.names.hash(kept.row.user), slot);
}

void ItemRows::confirm(RowSlot slot, Sequence sequence) {
  Row& changed = chunks_.at(slot);
  CHECK(changed.state() == ReservationState::reserved);
  const std::uint32_t cell = cell_of(slot);
  Several* entry = (cell & kSeveralBit) != 0 ? &several(cell) : nullptr;
  if (entry != nullptr) unlink(*entry, slot);
  changed.set_state(ReservationState::confirmed);
  changed.set_sequence(sequence);
  if (entry != nullptr) push_front(*entry, slot);
}

void ItemRows::resume(RowSlot slot, bool exclusive, Sequence sequence) {
  Row& changed = chunks_.at(slot);
  CHECK(changed.state() == ReservationState::expired && ended_count_ > 0);
  --ended_count_;
  changed.set_state(ReservationState::confirmed);
  changed.set_exclusive(exclusive);
  changed.set_sequence(sequence);
  add_live(slot);
}

void ItemRows::end(RowSlot slot, ReservationState state, HoldTime now, Sequence sequence) {
  Row& changed = chunks_.at(slot);
  CHECK(changed.live() && state >= ReservationState::released);
  remove_live(slot, state == ReservationState::expired);
  changed.set_state(state);
  changed.set_time(std::min(elapsed(now), Row::kTimeMax));
  changed.set_sequence(sequence);
  ++ended_count_;
  chunks_.note_ended(slot);
}

void ItemRows::extend(RowSlot slot, HoldTime deadline, Sequence sequence) {
  Row& changed = chunks_.at(slot);
  CHECK(changed.state() == ReservationState::reserved);
  changed.set_time(to_offset(deadline));
  changed.set_sequence(sequence);
  chunks_.note_deadline(slot);
}

void ItemRows::forget(RowSlot slot) {
  const Row& gone = row(slot);
  CHECK(gone.ended() && ended_count_ > 0);
  --ended_count_;
  ids_.erase(hash_id(gone.id), slot.value());
  const UserId user = this->user(slot);
  const std::uint64_t hash = pools_.names.hash(user);
  if (find_cell(hash, user) == slot.value()) users_.erase(hash, slot.value());
  pools_.names.release(gone.user());
  chunks_.give_back(slot);
}

HoldTime ItemRows::deadline_bound() const noexcept {
  const std::uint64_t bound = chunks_.deadline_bound();
  return bound == RowChunks::kNever ? HoldTime::max() : base_ + Millis(bound);
}

std::optional<RowSlot> ItemRows::earliest_due(HoldTime now, int& looks) {
  return now < base_ ? std::nullopt : chunks_.earliest_deadline(std::min(elapsed(now), Row::kTimeMax), looks);
}

bool ItemRows::represents_user(RowSlot slot) const {
  if (!row(slot).live()) return false;
  const std::uint32_t cell = cell_of(slot);
  if ((cell & kSeveralBit) == 0) return true;
  const Several& entry = several(cell);
  return slot.value() == (entry.reserved > 0 ? entry.reserved_head : entry.confirmed_head);
}

bool ItemRows::release_some(std::size_t steps) {
  constexpr std::size_t kBucketsPerStep = 64;
  const auto free_several = [this](std::uint32_t cell) {
    if ((cell & kSeveralBit) != 0) pools_.several.release(cell & ~kSeveralBit, kSeveralUnits);
  };
  return users_.release_some(steps * kBucketsPerStep, free_several) &&
         ids_.release_some(steps * kBucketsPerStep, [](std::uint32_t) {}) &&
         chunks_.release_some(steps, [this](const Row& gone) { pools_.names.release(gone.user()); });
}

std::uint64_t ItemRows::hash_id(const ReservationId& id) const noexcept {
  return XXH3_64bits_withSeed(id.bytes().data(), id.bytes().size(), pools_.seed + 2);
}

std::uint64_t ItemRows::elapsed(HoldTime time) const {
  CHECK(time >= base_);
  return static_cast<std::uint64_t>((time - base_).count());
}

std::uint64_t ItemRows::to_offset(HoldTime time) const {
  CHECK(fits(time));
  return elapsed(time);
}

}  // namespace holdfast
