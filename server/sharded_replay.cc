#include "server/sharded_replay.h"

#include "protocol/check.h"

#include <algorithm>

namespace holdfast {

ShardedReplay::ShardedReplay(std::vector<Inventory*> inventories)
    : inventories_(std::move(inventories)), router_(static_cast<std::uint16_t>(inventories_.size())) {
  for (std::size_t i = 0; i < inventories_.size(); ++i) {
    CHECK(inventories_[i]->place().index.value() == i && inventories_[i]->place().count == inventories_.size());
    CHECK(inventories_[i]->item_number_max() == ItemNumber());
    restores_.emplace_back(*inventories_[i]);
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

InventoryRestore& ShardedReplay::restore_of(std::string_view name) {
  return restores_[router_.owner(ItemName::from_stored(name)).value()];
}

Result<void> ShardedReplay::on_log(const SnapshotLog& log) {
  for (InventoryRestore& restore : restores_) HOLDFAST_TRY(restore.on_log(log));
  return {};
}

Result<void> ShardedReplay::on_name(const SnapshotName& name) { return restore_of(name.name).on_name(name); }

Result<void> ShardedReplay::on_version(const SnapshotVersion&) { return {}; }

Result<void> ShardedReplay::on_item(const SnapshotItem& item) {
  if (owners_.contains(item.number.value())) return Error(ErrorCode::damaged, "an item number that is given twice");
  restoring_ = &restore_of(item.name);
  HOLDFAST_TRY(restoring_->on_item(item));
  owners_.emplace(item.number.value(), inventories_[static_cast<std::size_t>(restoring_ - restores_.data())]);
  return {};
}

Result<void> ShardedReplay::on_row(const SnapshotRow& row) { return restoring_->on_row(row); }
Result<void> ShardedReplay::on_order(std::span<const std::uint32_t> slots) { return restoring_->on_order(slots); }
Result<void> ShardedReplay::on_adjust(const ReservationId& id, std::int64_t delta) {
  return restoring_->on_adjust(id, delta);
}
Result<void> ShardedReplay::on_item_end() { return restoring_->on_item_end(); }

}  // namespace holdfast
