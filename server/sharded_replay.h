// Recovery into several shards: what a snapshot has, and the records of the log, read in LSN order by one thread, go to
// the inventories of their items' owners. Nothing in either says how many shards wrote it, so that any number may read it.
#pragma once

#include "server/inventory_snapshot.h"
#include "server/router.h"

#include <vector>

namespace holdfast {

class ShardedReplay final : public RecordVisitor, public SnapshotVisitor {
 public:
  /// The inventories of all shards, by index, without any item; they outlive this. REQUIRES: at least one.
  explicit ShardedReplay(std::vector<Inventory*> inventories);

  /// What the log's reader drives: this, or the inventory itself where there is one.
  RecordVisitor& visitor() noexcept;

  /// After the last record: the shards give numbers above all that were ever given. Returns the hash of the state of
  /// all together, which must be the log's.
  StateHash finish();

  // RecordVisitor. Errors are the inventories' own; a record that no item is there for is refused as one of them does.

  Result<void> on_item(const RecordStamp& stamp, const ItemRecord& record) override;
  Result<void> on_reservation(const RecordStamp& stamp, const ReservationRecord& record) override;
  Result<void> on_forget(const RecordStamp& stamp, const ForgetRecord& record) override;
  /// For all of them.
  Result<void> on_default_returns(const RecordStamp& stamp, const DefaultReturnsRecord& record) override;

  // SnapshotVisitor, before any record. The same errors.

  Result<void> on_log(const SnapshotLog& log) override;
  Result<void> on_name(const SnapshotName& name) override;
  Result<void> on_version(const SnapshotVersion& version) override;
  Result<void> on_item(const SnapshotItem& item) override;
  Result<void> on_row(const SnapshotRow& row) override;
  Result<void> on_order(std::span<const std::uint32_t> slots) override;
  Result<void> on_adjust(const ReservationId& id, std::int64_t delta) override;
  Result<void> on_item_end() override;

 private:
  Inventory& owner_of(ItemNumber number) const;
  Result<void> load(const RecordStamp& stamp, const ItemRecord& record);

  InventoryRestore& restore_of(std::string_view name);

  std::vector<Inventory*> inventories_;
  std::vector<InventoryRestore> restores_;  // by index
  InventoryRestore* restoring_ = nullptr;   // of the item last told of
  Router router_;
  boost::unordered_flat_map<std::uint64_t, Inventory*> owners_;  // by number, of the items there are
};

}  // namespace holdfast
