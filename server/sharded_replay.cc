#include "server/sharded_replay.h"

#include "protocol/check.h"

#include <algorithm>

namespace holdfast {

ShardedReplay::ShardedReplay(std::vector<Inventory*> inventories)
    : inventories_(std::move(inventories)), router_(static_cast<std::uint16_t>(inventories_.size())) {
  for (std::size_t i = 0; i < inventories_.size(); ++i) {
    CHECK(inventories_[i]->place().index.value() == i && inventories_[i]->place().count == inventories_.size());
    CHECK(inventories_[i]->item_number_max() == ItemNumber());
  }
}

RecordVisitor& ShardedReplay::visitor() noexcept {
  if (inventories_.size() == 1) return *inventories_[0];
  return *this;
}

StateHash ShardedReplay::finish() {
  StateHash hash;
  ItemNumber highest;
  for (Inventory* inventory : inventories_) {
    hash += inventory->seal();
    highest = std::max(highest, inventory->item_number_max());
  }
  for (Inventory* inventory : inventories_) inventory->number_from(highest.next());
  owners_.clear();
  return hash;
}

/// Any of them refuses a number that none has.
Inventory& ShardedReplay::owner_of(ItemNumber number) const {
  const auto found = owners_.find(number.value());
  return found == owners_.end() ? *inventories_[0] : *found->second;
}

Result<void> ShardedReplay::on_item(const RecordStamp& stamp, const ItemRecord& record) {
  if (record.event == ItemEvent::load) return load(stamp, record);
  HOLDFAST_TRY(owner_of(stamp.item).on_item(stamp, record));
  if (record.event == ItemEvent::drop) owners_.erase(stamp.item.value());
  return {};
}

Result<void> ShardedReplay::load(const RecordStamp& stamp, const ItemRecord& record) {
  const bool is_name = !record.name.empty() && record.name.size() <= kItemNameBytesMax;
  // A number in use is refused by the inventory that has it, a name that is none by any.
  if (!is_name || owners_.contains(stamp.item.value())) {
    const auto refused = owner_of(stamp.item).on_item(stamp, record);
    CHECK(!refused);
    return refused;
  }
  const ItemName name = ItemName::from_stored(record.name);
  Inventory* owner = inventories_[router_.owner(name).value()];
  const ItemNumber before = owner->number_of(name);
  HOLDFAST_TRY(owner->on_item(stamp, record));
  owners_.erase(before.value());
  owners_.emplace(stamp.item.value(), owner);
  return {};
}

Result<void> ShardedReplay::on_reservation(const RecordStamp& stamp, const ReservationRecord& record) {
  return owner_of(stamp.item).on_reservation(stamp, record);
}

Result<void> ShardedReplay::on_forget(const RecordStamp& stamp, const ForgetRecord& record) {
  return owner_of(stamp.item).on_forget(stamp, record);
}

Result<void> ShardedReplay::on_default_returns(const RecordStamp& stamp, const DefaultReturnsRecord& record) {
  for (Inventory* inventory : inventories_) HOLDFAST_TRY(inventory->on_default_returns(stamp, record));
  return {};
}

}  // namespace holdfast
