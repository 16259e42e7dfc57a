#include "server/inventory_snapshot.h"

#include "storage/snapshot_format.h"

namespace holdfast {
namespace {

SnapshotItem item_of(const Item& item) {
  SnapshotItem told;
  told.number = item.number;
  told.version = item.version;
  told.state = item.state;
  told.returns_held = item.returns_held;
  told.fenced = item.fenced;
  told.sequence = item.sequence;
  told.base = item.rows->base();
  told.slots = item.rows->slots_end();
  told.counters = item.counters;
  told.total = item.total;
  told.name = item.named->name;
  told.definition = item.definition;
  told.loaded = item.loaded;
  return told;
}

SnapshotRow row_of(const Item& item, RowSlot slot) {
  const ItemRows& rows = *item.rows;
  const Row& row = rows.row(slot);
  SnapshotRow told;
  told.slot = slot.value();
  told.state = row.state();
  told.exclusive = row.exclusive();
  told.is_newest_expired = rows.is_newest_expired(slot);
  told.id = row.id;
  told.user = rows.user(slot);
  told.is_newest_of_sale = row.live() && item.sale != nullptr && item.sale->is_newest(told.user, item.number, slot);
  told.quantity = rows.quantity(slot);
  told.created = rows.created(slot);
  if (row.state() == ReservationState::reserved) told.time = rows.deadline(slot);
  if (row.ended()) told.time = rows.ended_at(slot);
  told.sequence = row.sequence();
  told.lsn = row.lsn();
  return told;
}

Result<void> save_item(const Item& item, SnapshotVisitor& to) {
  HOLDFAST_TRY(to.on_item(item_of(item)));
  const ItemRows& rows = *item.rows;
  for (std::uint32_t slot = 0; slot < rows.slots_end(); ++slot) {
    if (rows.row(RowSlot(slot)).state() == ReservationState::none) continue;
    HOLDFAST_TRY(to.on_row(row_of(item, RowSlot(slot))));
  }
  Result<void> told;
  rows.for_each_order([&](std::span<const std::uint32_t> slots) {
    for (; told && !slots.empty(); slots = slots.subspan(std::min(slots.size(), snapshot_format::kOrderSlotsMax))) {
      told = to.on_order(slots.first(std::min(slots.size(), snapshot_format::kOrderSlotsMax)));
    }
  });
  HOLDFAST_TRY(told);
  HOLDFAST_TRY(
      item.adjusts.for_each([&](const ReservationId& id, std::int64_t delta) { return to.on_adjust(id, delta); }));
  return to.on_item_end();
}

}  // namespace

Result<void> save_names(const Inventory& inventory, SnapshotVisitor& to) {
  CHECK(inventory.place().count == 1);
  for (std::size_t position = 0; position < inventory.positions_end(); ++position) {
    const NamedItem& named = inventory.name_at(position);
    HOLDFAST_TRY(to.on_name({named.name, named.version}));
  }
  return {};
}

Result<void> save_items(const Inventory& inventory, SnapshotVisitor& to) {
  for (std::size_t index = 0; index < inventory.indexes_end(); ++index) {
    if (const Item* item = inventory.item_at(index)) HOLDFAST_TRY(save_item(*item, to));
  }
  return {};
}

namespace {

Error misfit(std::string_view name, std::string_view what) {
  return Error::format(ErrorCode::damaged, "item '{}' of the snapshot: {}", Echo(name).text(), what);
}

}  // namespace

Result<void> InventoryRestore::on_log(const SnapshotLog& log) {
  inventory_.returns_held_ = log.returns_held;
  if (log.item_number_max > Inventory::kItemNumberMax) return Error(ErrorCode::damaged, "an item number out of range");
  inventory_.item_number_max_ = std::max(inventory_.item_number_max_, log.item_number_max);
  return {};
}

Result<void> InventoryRestore::on_name(const SnapshotName& name) {
  if (name.version.value() > kVersionMax || inventory_.by_name_.contains(name.name)) {
    return misfit(name.name, "its name comes twice, or with a version out of range");
  }
  inventory_.make_name(name.name).version = name.version;
  return {};
}

Result<void> InventoryRestore::check(const SnapshotItem& item) const {
  const auto named = inventory_.by_name_.find(item.name);
  if (named == inventory_.by_name_.end() || named->second->version != item.version || named->second->item != nullptr) {
    return misfit(item.name, "it is not the one version that its name has");
  }
  if (inventory_.find_number(item.number) != nullptr || item.number > inventory_.item_number_max_) {
    return misfit(item.name, "its number is in use or above the highest");
  }
  const RecordStamp stamp{Lsn(1), item.base, WallTime(), item.number, item.sequence};
  if (!Inventory::is_storable(stamp) || !Inventory::is_valid(item.definition) || !Inventory::is_valid(item.loaded)) {
    return misfit(item.name, "its definition, sequence or time is out of range");
  }
  if (item.definition.scope != item.loaded.scope ||
      (item.definition.scope == LimitScope::sale && ItemName::from_stored(item.name).hash_tag().empty())) {
    return misfit(item.name, "its scope cannot be");
  }
  if (!item.fenced && !lawful(item.counters, item.total)) return misfit(item.name, "its counters break the law");
  return {};
}

Result<void> InventoryRestore::on_item(const SnapshotItem& item) {
  HOLDFAST_TRY(check(item));
  Item& made = inventory_.make_item(*inventory_.by_name_.find(item.name)->second, item.number, item.base);
  made.version = item.version;
  made.loaded = item.loaded;
  made.definition = item.definition;
  made.state = item.state;
  made.returns_held = item.returns_held;
  made.fenced = item.fenced;
  made.counters = item.counters;
  made.total = item.total;
  if (made.fenced) ++inventory_.fenced_count_;
  if (made.definition.scope == LimitScope::sale) inventory_.join_sale(made);
  inventory_.note_change(made, item.sequence, GroupOrdinal());
  item_ = &made;
  slots_ = item.slots;
  reserved_ = confirmed_ = 0;
  return {};
}

bool InventoryRestore::fits(const SnapshotRow& row) const {
  const ItemRows& rows = *item_->rows;
  const bool ended = row.state >= ReservationState::released;
  const bool reserved = row.state == ReservationState::reserved;
  if (row.slot < rows.slots_end() || row.slot >= slots_ || row.slot > ItemRows::kSlotMax || rows.find(row.id) ||
      !rows.fits(row.created) || row.sequence == Sequence() || row.sequence > item_->sequence ||
      row.lsn.value() > Row::kLsnMax) {
    return false;
  }
  if (ended ? !row.time || *row.time < rows.base() : row.time && (!reserved || !rows.fits(*row.time))) return false;
  if (row.is_newest_of_sale && (item_->sale == nullptr || ended)) return false;
  if (!row.is_newest_expired) return true;
  const UserRows user = rows.find_user(row.user);
  return row.state == ReservationState::expired && user.live() == 0 && !user.newest_expired;
}

Result<void> InventoryRestore::on_row(const SnapshotRow& row) {
  if (!fits(row)) {
    const auto id = row.id.text();
    return misfit(item_->named->name,
                  fmt::format("reservation {} cannot be as it stands there", std::string_view(id.data(), id.size())));
  }
  ItemRows::Kept kept;
  kept.row = {row.id, row.user, row.quantity, row.created, {}, row.exclusive};
  kept.state = row.state;
  kept.sequence = row.sequence;
  kept.lsn = row.lsn;
  kept.is_newest_expired = row.is_newest_expired;
  if (row.state == ReservationState::reserved) {
    kept.row.deadline = row.time;
  } else if (row.time) {
    kept.ended_at = *row.time;
  }
  const RowSlot slot(row.slot);
  item_->rows->restore(slot, kept);
  const bool live = item_->rows->row(slot).live();
  if (live && item_->sale != nullptr) {
    item_->sale->restore(row.user, item_->number, slot, row.quantity, row.is_newest_of_sale);
  }
  std::int64_t& units = row.state == ReservationState::reserved ? reserved_ : confirmed_;
  if (live && __builtin_add_overflow(units, row.quantity, &units)) return misfit(item_->named->name, "too many units");
  return {};
}

Result<void> InventoryRestore::on_order(std::span<const std::uint32_t> slots) {
  for (const std::uint32_t slot : slots) {
    if (slot >= item_->rows->slots_end() || !item_->rows->put_first(RowSlot(slot))) {
      return misfit(item_->named->name, "an order of reservations that are not a user's live ones");
    }
  }
  return {};
}

Result<void> InventoryRestore::on_adjust(const ReservationId& id, std::int64_t delta) {
  if (item_->adjusts.find(id)) return misfit(item_->named->name, "an ADJUST comes twice");
  item_->adjusts.add(id, delta);
  return {};
}

Result<void> InventoryRestore::on_item_end() {
  Item& item = *item_;
  if (slots_ < item.rows->slots_end() || slots_ > ItemRows::kSlotMax) return misfit(item.named->name, "its slots");
  item.rows->use_slots_up_to(slots_);
  if (!item.fenced && (reserved_ != item.counters.reserved || confirmed_ != item.counters.confirmed)) {
    return misfit(item.named->name, "its reservations are not what its counters say");
  }
  inventory_.schedule_window(item);
  inventory_.schedule(item);
  item_ = nullptr;
  return {};
}

}  // namespace holdfast
