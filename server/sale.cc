#include "server/sale.h"

#include "server/ask_memory.h"

namespace holdfast {

Sale::Sale(RowPools& pools, std::string tag) : pools_(pools), tag_(std::move(tag)), users_(pools.cells) {}

Sale::~Sale() { CHECK(users_.size() == 0); }

std::int64_t Sale::units(const UserId& user) const {
  const Entry* entry = find(user, pools_.names.hash(user));
  return entry == nullptr ? 0 : entry->units;
}

void Sale::add(const UserId& user, ItemNumber item, RowSlot slot, std::int64_t quantity) {
  restore(user, item, slot, quantity, true);
}

void Sale::restore(const UserId& user, ItemNumber item, RowSlot slot, std::int64_t quantity, bool newest) {
  Entry& entry = entry_of(user);
  entry.units += quantity;
  ++entry.count;
  if (!newest) return;
  entry.newest_item = item.value();
  entry.newest_slot = slot.value();
}

bool Sale::is_newest(const UserId& user, ItemNumber item, RowSlot slot) const {
  const Entry* entry = find(user, pools_.names.hash(user));
  return entry != nullptr && entry->newest_item == item.value() && entry->newest_slot == slot.value();
}

/// Made when he has none.
Sale::Entry& Sale::entry_of(const UserId& user) {
  const std::uint64_t hash = pools_.names.hash(user);
  Entry* entry = find(user, hash);
  if (entry == nullptr) {
    const UnitPool::Handle handle = pools_.several.allocate(kEntryUnits);
    entry = &entry_at(handle);
    *entry = Entry{pools_.names.store(user), 0, 0, 0, 0};
    users_.insert(
        hash, handle,
        [this](std::uint32_t value) { return pools_.names.hash(pools_.names.user_of(entry_at(value).user)); },
        [this](std::uint32_t value) { ask_memory(&entry_at(value)); });
  }
  return *entry;
}

void Sale::remove(const UserId& user, ItemNumber item, RowSlot slot, std::int64_t quantity) {
  const std::uint64_t hash = pools_.names.hash(user);
  Entry* entry = find(user, hash);
  CHECK(entry != nullptr && entry->count > 0 && entry->units >= quantity);
  entry->units -= quantity;
  if (--entry->count == 0) {
    const auto handle = users_.find(hash, [&](std::uint32_t value) { return &entry_at(value) == entry; });
    users_.erase(hash, *handle);
    pools_.names.release(entry->user);
    pools_.several.release(*handle, kEntryUnits);
  } else if (entry->newest_item == item.value() && entry->newest_slot == slot.value()) {
    entry->newest_item = 0;
  }
}

ItemNumber Sale::newest_item(const UserId& user) const {
  const Entry* entry = find(user, pools_.names.hash(user));
  return ItemNumber(entry == nullptr ? 0 : entry->newest_item);
}

Sale::Entry* Sale::find(const UserId& user, std::uint64_t hash) const {
  Entry* found = nullptr;
  users_.find(hash, [&](std::uint32_t value) {
    Entry& entry = entry_at(value);
    if (!pools_.names.is_user_of(entry.user, user)) return false;
    found = &entry;
    return true;
  });
  return found;
}

}  // namespace holdfast
