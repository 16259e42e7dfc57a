// Between an inventory and a snapshot: the whole state as a SnapshotVisitor is told it, and an inventory that takes it
// over. What is taken over is checked like a record from the log, since nobody knows who wrote it. One thread.
#pragma once

#include "server/inventory.h"
#include "storage/snapshot.h"

namespace holdfast {

/// Tells all names, in the order of their first LOADs. REQUIRES: the inventory of one shard alone, all its groups durable.
Result<void> save_names(const Inventory& inventory, SnapshotVisitor& to);
/// Tells all items with their reservations and ADJUST ids.
Result<void> save_items(const Inventory& inventory, SnapshotVisitor& to);

/// Makes an inventory without any item that of a snapshot, or of the part of it that it is told. Errors: damaged, with
/// what does not fit; the inventory is then good for nothing.
class InventoryRestore final : public SnapshotVisitor {
 public:
  explicit InventoryRestore(Inventory& inventory) noexcept : inventory_(inventory) {}

  Result<void> on_log(const SnapshotLog& log) override;
  Result<void> on_name(const SnapshotName& name) override;
  /// Nothing for an inventory.
  Result<void> on_version(const SnapshotVersion&) override { return {}; }
  Result<void> on_item(const SnapshotItem& item) override;
  Result<void> on_row(const SnapshotRow& row) override;
  Result<void> on_order(std::span<const std::uint32_t> slots) override;
  Result<void> on_adjust(const ReservationId& id, std::int64_t delta) override;
  /// Holds the reservations against the item's counters.
  Result<void> on_item_end() override;

 private:
  Result<void> check(const SnapshotItem& item) const;
  bool fits(const SnapshotRow& row) const;

  Inventory& inventory_;
  Item* item_ = nullptr;
  std::uint32_t slots_ = 0;
  std::int64_t reserved_ = 0;
  std::int64_t confirmed_ = 0;
};

}  // namespace holdfast
