// A log as bytes, made record by record as a server would: for tests of what reads it. Keeps the counters of its items, so
// that records carry right ones. One thread.
#pragma once

#include "replication/cursor.h"
#include "replication/outside_id.h"
#include "storage/group.h"
#include "storage/segment_format.h"
#include "storage/snapshot_reader.h"

#include <map>

namespace holdfast::test {

/// The id with this number in its last bytes.
ReservationId id_of(std::uint64_t number);

struct LogMaker {
  LogId log{0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99};
  HoldTime hold = hold_time(5000);
  WallTime wall = wall_time(1'700'000'000'000);

  /// A version of an item in the making: what its next records say.
  struct Item {
    ItemNumber number;
    std::string name;
    ItemVersion version;
    ItemState state = ItemState::draft;
    ItemDefinition definition;
    Counters counters;
    Sequence sequence;
  };
  struct Reservation {
    std::string user;
    std::int64_t quantity = 1;
    ReservationState state = ReservationState::none;
    HoldTime created{};
    Sequence last{};
    bool exclusive = false;
  };

  /// LOAD and OPEN of the next version of a name.
  Item& create(const std::string& name, std::int64_t stock, const ItemDefinition& definition = {});
  void change(Item& item, ItemEvent event, std::int64_t delta = 0, ReservationId adjust_id = {});
  /// RESERVE for ten minutes; then what becomes of it. REQUIRES of the others: it was reserved.
  void reserve(Item& item, std::uint64_t id, const std::string& user, std::int64_t quantity = 1);
  void follow(Item& item, std::uint64_t id, ReservationEvent event, bool write_off = false);
  void forget(Item& item);
  ReservationState state_of(const Item& item, std::uint64_t id) const {
    return reservations_.at({item.number.value(), id}).state;
  }
  /// All records since the last one as a batch, as on disk.
  std::string batch();
  /// The state after the last batch as a server's snapshot of it, in "/snapshots". Items that were closed are there, too.
  SnapshotReader snapshot(FileSystem& files) const;
  /// The LSN that the next batch begins with.
  Lsn next_lsn() const noexcept { return next_lsn_; }

 private:
  RecordStamp stamp(Item& item);
  void put(Item& item, std::uint64_t id, ReservationEvent event, bool write_off);
  Result<void> put_rows(SnapshotVisitor& visitor, const Item& item) const;

  std::map<std::string, Item> items_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Reservation> reservations_;  // by item number and id
  Group group_{ShardIndex(0), 64_MiB};
  bool open_ = false;
  std::uint64_t next_number_ = 1;
  std::uint64_t ordinal_ = 0;
  Lsn next_lsn_{1};
  std::uint64_t sum_ = 0;
};

}  // namespace holdfast::test
