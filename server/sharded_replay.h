// Recovery into several shards: the records of the log, read in LSN order by one thread, go to the inventories of their
// items' owners. Nothing in a record says how many shards wrote it, so that any number may read it.
#pragma once

#include "server/inventory.h"
#include "server/router.h"

#include <vector>

namespace holdfast {

class ShardedReplay final : public RecordVisitor {
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

 private:
  Inventory& owner_of(ItemNumber number) const;
  Result<void> load(const RecordStamp& stamp, const ItemRecord& record);

  std::vector<Inventory*> inventories_;
  Router router_;
  boost::unordered_flat_map<std::uint64_t, Inventory*> owners_;  // by number, of the items there are
};

}  // namespace holdfast
