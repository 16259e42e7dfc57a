// The hash of the state from the records alone: of each item only what it hashes, no reservation. So that tools can check
// a log, or cut it anywhere, without an inventory. One thread.
#pragma once

#include "storage/record.h"
#include "storage/snapshot.h"
#include "storage/state_hash.h"

#include <boost/unordered/unordered_flat_map.hpp>

#include <string>
#include <vector>

namespace holdfast {

/// What an item's hash is made of.
struct HashedItem {
  ItemNumber number;
  ItemVersion version;
  ItemState state{};
  Sequence sequence;
  std::int64_t total = 0;
  Counters counters;
};
StateHash item_hash(const HashedItem& item) noexcept;

/// Is driven by a log's reader. Takes any records, also ones that no inventory would: a change of an item that was never
/// loaded makes one of version none.
class StateHasher final : public RecordVisitor {
 public:
  /// An item as a snapshot holds it; one of the same number is replaced.
  void add(std::string_view name, const HashedItem& item);

  /// After all records so far; costs one hash per item touched since the last call.
  const StateHash& state();

  Result<void> on_item(const RecordStamp& stamp, const ItemRecord& record) override;
  Result<void> on_reservation(const RecordStamp& stamp, const ReservationRecord& record) override;
  Result<void> on_forget(const RecordStamp& stamp, const ForgetRecord& record) override;
  Result<void> on_default_returns(const RecordStamp& stamp, const DefaultReturnsRecord& record) override;

 private:
  struct Kept {
    HashedItem item;
    StateHash hash;  // as last added to the sum
    bool touched = false;
  };
  Kept& touch(ItemNumber number);
  void remove(ItemNumber number);

  boost::unordered_flat_map<std::uint64_t, Kept> items_;  // by number
  boost::unordered_flat_map<std::string, ItemNumber> names_;
  std::vector<ItemNumber> touched_;
  StateHash sum_;
};

/// Gives a hasher what a snapshot holds.
class SnapshotItems final : public SnapshotAcceptor {
 public:
  explicit SnapshotItems(StateHasher& hasher) noexcept : hasher_(hasher) {}

  Result<void> on_item(const SnapshotItem& item) override {
    hasher_.add(item.name, {item.number, item.version, item.state, item.sequence, item.total, item.counters});
    return {};
  }

 private:
  StateHasher& hasher_;
};

}  // namespace holdfast
