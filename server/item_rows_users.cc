// The user index of an item: who has what, also with several live rows.
#include "server/item_rows.h"

namespace holdfast {

ItemRows::Several& ItemRows::several(std::uint32_t cell) {
  return *reinterpret_cast<Several*>(pools_.several.at(cell & ~kSeveralBit));
}

const ItemRows::Several& ItemRows::several(std::uint32_t cell) const {
  return *reinterpret_cast<const Several*>(pools_.several.at(cell & ~kSeveralBit));
}

const Row& ItemRows::row_of_cell(std::uint32_t cell) const {
  if ((cell & kSeveralBit) == 0) return row(RowSlot(cell));
  const Several& entry = several(cell);
  return row(RowSlot(entry.reserved > 0 ? entry.reserved_head : entry.confirmed_head));
}

std::optional<std::uint32_t> ItemRows::find_cell(std::uint64_t hash, const UserId& user) const {
  return users_.find(hash, [&](std::uint32_t cell) { return pools_.names.is_user_of(row_of_cell(cell).user(), user); });
}

std::uint32_t ItemRows::cell_of(RowSlot slot) const {
  const UserId user = this->user(slot);
  const auto cell = find_cell(pools_.names.hash(user), user);
  CHECK(cell.has_value());
  return *cell;
}

bool ItemRows::is_newest_expired(RowSlot slot) const {
  if (row(slot).state() != ReservationState::expired) return false;
  const UserId user = this->user(slot);
  return find_cell(pools_.names.hash(user), user) == slot.value();
}

bool ItemRows::put_first(RowSlot slot) {
  if (!row(slot).live()) return false;
  const std::uint32_t cell = cell_of(slot);
  if ((cell & kSeveralBit) == 0) return false;
  unlink(several(cell), slot);
  push_front(several(cell), slot);
  return true;
}

void ItemRows::insert_cell(std::uint64_t hash, RowSlot slot) {
  users_.insert(
      hash, slot.value(),
      [this](std::uint32_t cell) { return pools_.names.hash(pools_.names.user_of(row_of_cell(cell).user())); },
      [this](std::uint32_t cell) {
        if ((cell & kSeveralBit) == 0) row(RowSlot(cell)).prefetch_user();
      });
}

void ItemRows::add_live(RowSlot slot) {
  const UserId user = this->user(slot);
  const std::uint64_t hash = pools_.names.hash(user);
  const auto cell = find_cell(hash, user);
  if (!cell) {
    insert_cell(hash, slot);
    ++live_users_;
    return;
  }
  if (*cell == slot.value()) {  // an EXPIRED one that is taken up again
    ++live_users_;
    return;
  }
  if ((*cell & kSeveralBit) == 0 && row(RowSlot(*cell)).ended()) {
    users_.replace(hash, *cell, slot.value());
    ++live_users_;
    return;
  }
  const std::uint32_t entry = (*cell & kSeveralBit) != 0 ? *cell : make_several(RowSlot(*cell));
  if (entry != *cell) users_.replace(hash, *cell, entry);
  several(entry).units += quantity(slot);
  push_front(several(entry), slot);
}

/// `keeps_cell`: the row becomes EXPIRED and may be resumed by user, when nothing else of his is live.
void ItemRows::remove_live(RowSlot slot, bool keeps_cell) {
  const UserId user = this->user(slot);
  const std::uint64_t hash = pools_.names.hash(user);
  const auto cell = find_cell(hash, user);
  CHECK(cell.has_value());
  if ((*cell & kSeveralBit) == 0) {
    CHECK(*cell == slot.value());
    --live_users_;
    if (!keeps_cell) users_.erase(hash, *cell);
    return;
  }
  Several& entry = several(*cell);
  entry.units -= quantity(slot);
  unlink(entry, slot);
  if (entry.reserved + entry.confirmed > 1) return;
  const std::uint32_t last = entry.reserved > 0 ? entry.reserved_head : entry.confirmed_head;
  users_.replace(hash, *cell, last);
  pools_.several.release(*cell & ~kSeveralBit, kSeveralUnits);
}

std::uint32_t ItemRows::make_several(RowSlot only) {
  const UnitPool::Handle handle = pools_.several.allocate(kSeveralUnits);
  CHECK((handle & kSeveralBit) == 0);
  const std::uint32_t cell = handle | kSeveralBit;
  several(cell) = Several{quantity(only), 0, 0, RowChunks::Link::kEnd, RowChunks::Link::kEnd};
  push_front(several(cell), only);
  return cell;
}

void ItemRows::push_front(Several& entry, RowSlot slot) {
  const bool reserved = row(slot).state() == ReservationState::reserved;
  std::uint32_t& head = reserved ? entry.reserved_head : entry.confirmed_head;
  chunks_.link(slot) = {RowChunks::Link::kEnd, head};
  if (head != RowChunks::Link::kEnd) chunks_.link(RowSlot(head)).newer = slot.value();
  head = slot.value();
  ++(reserved ? entry.reserved : entry.confirmed);
}

void ItemRows::unlink(Several& entry, RowSlot slot) {
  const bool reserved = row(slot).state() == ReservationState::reserved;
  const RowChunks::Link link = chunks_.link(slot);
  std::uint32_t& head = reserved ? entry.reserved_head : entry.confirmed_head;
  if (link.newer != RowChunks::Link::kEnd) chunks_.link(RowSlot(link.newer)).older = link.older;
  if (link.older != RowChunks::Link::kEnd) chunks_.link(RowSlot(link.older)).newer = link.newer;
  if (head == slot.value()) head = link.older;
  --(reserved ? entry.reserved : entry.confirmed);
}

}  // namespace holdfast
