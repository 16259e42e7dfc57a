// Which item a number means: records of reservations carry the number alone. Holds every version of an item that has
// records in the segments that are kept. Deterministic; one thread.
//
// It learns from item records in LSN order (recovery, then whoever reads the log), or is told of versions by a snapshot.
#pragma once

#include "storage/record_reader.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <deque>
#include <string>

namespace holdfast {

class ItemDirectory {
 public:
  struct Entry {
    std::string name;
    ItemVersion version;
  };

  /// This number means this version.
  void note(ItemNumber number, std::string_view name, ItemVersion version);
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
  struct Ended {
    Lsn lsn;
    ItemNumber number;
  };
  void end(ItemNumber number, Lsn lsn) { ended_.push_back({lsn, number}); }

  boost::unordered_flat_map<std::uint64_t, Entry> entries_;    // by number
  boost::unordered_flat_map<std::string, ItemNumber> newest_;  // of each name
  std::deque<Ended> ended_;                                    // in LSN order
};

/// Lets a directory learn from what another visitor is driven with.
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
