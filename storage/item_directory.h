// Which item a number means: records of reservations carry the number alone. Holds every version of an item that has
// records in the segments that are kept. Deterministic; one thread.
//
// It learns from item records in LSN order (recovery, then whoever reads the log), or is told of versions by a snapshot.
#pragma once

#include "storage/record_reader.h"
#include "storage/snapshot.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <set>
#include <string>

namespace holdfast {

class ItemDirectory {
 public:
  struct Entry {
    std::string name;
    ItemVersion version;
    Lsn last;  // a record of it, as who noted it knew
  };

  /// This number means this version; of several of one name all but the highest have ended with their `last` records.
  void note(ItemNumber number, std::string_view name, ItemVersion version, Lsn last);
  /// The same from a record. A LOAD ends the version before it, a DROP its own: no later record mentions those.
  /// REQUIRES: in LSN order.
  void learn(const RecordStamp& stamp, const ItemRecord& record);
  /// The same from all records of a batch, passing over those of reservations. An error as read_records has it.
  Result<void> learn(const BatchBody& body);
  /// Nothing for a number that no record and no snapshot told of. Valid until the next call that changes something.
  const Entry* find(ItemNumber number) const noexcept;
  /// Records below `oldest` are gone: so is what ended before it.
  void forget_before(Lsn oldest);
  std::size_t size() const noexcept { return entries_.size(); }

 private:
  void end(ItemNumber number, Lsn lsn) { ended_.emplace(lsn, number); }

  boost::unordered_flat_map<std::uint64_t, Entry> entries_;    // by number
  boost::unordered_flat_map<std::string, ItemNumber> newest_;  // of each name
  std::set<std::pair<Lsn, ItemNumber>> ended_;
};

/// Lets a directory learn from what another visitor is driven with: a snapshot, or the records behind it.
class SnapshotDirectoryTee final : public SnapshotVisitor {
 public:
  SnapshotDirectoryTee(ItemDirectory& directory, SnapshotVisitor& next) noexcept : directory_(directory), next_(next) {}
  Result<void> on_log(const SnapshotLog& log) override { return next_.on_log(log); }
  Result<void> on_name(const SnapshotName& name) override { return next_.on_name(name); }
  Result<void> on_version(const SnapshotVersion& version) override {
    directory_.note(version.item, version.name, version.version, version.last);
    return next_.on_version(version);
  }
  Result<void> on_item(const SnapshotItem& item) override {
    directory_.note(item.number, item.name, item.version, Lsn());
    return next_.on_item(item);
  }
  Result<void> on_row(const SnapshotRow& row) override { return next_.on_row(row); }
  Result<void> on_order(std::span<const std::uint32_t> slots) override { return next_.on_order(slots); }
  Result<void> on_adjust(const ReservationId& id, std::int64_t delta) override { return next_.on_adjust(id, delta); }
  Result<void> on_item_end() override { return next_.on_item_end(); }

 private:
  ItemDirectory& directory_;
  SnapshotVisitor& next_;
};

class DirectoryTee final : public RecordVisitor {
 public:
  DirectoryTee(ItemDirectory& directory, RecordVisitor& next) noexcept : directory_(directory), next_(next) {}
  Result<void> on_item(const RecordStamp& stamp, const ItemRecord& record) override {
    directory_.learn(stamp, record);
    return next_.on_item(stamp, record);
  }
  Result<void> on_reservation(const RecordStamp& stamp, const ReservationRecord& record) override {
    return next_.on_reservation(stamp, record);
  }
  Result<void> on_forget(const RecordStamp& stamp, const ForgetRecord& record) override {
    return next_.on_forget(stamp, record);
  }
  Result<void> on_default_returns(const RecordStamp& stamp, const DefaultReturnsRecord& record) override {
    return next_.on_default_returns(stamp, record);
  }

 private:
  ItemDirectory& directory_;
  RecordVisitor& next_;
};

}  // namespace holdfast
