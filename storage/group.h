// An open group: the records that one shard's steps make between two hand-overs to the log, already encoded.
//
// Belongs to its shard's thread while open, to the log thread from LogThread::submit until it comes back as committed.
// Reopening it reuses its memory. It begins with a CLOCK record, taken from the first record's stamp, and holds another
// one wherever a stamp does not fit the 16-bit offset after the last; these count as records and have LSNs.
#pragma once

#include "storage/record.h"
#include "storage/state_hash.h"

#include <cstddef>
#include <span>
#include <vector>

namespace holdfast {

class Group final : public RecordSink {
 public:
  /// `seal_bytes`: the size from which wants_seal() holds, see group_bytes_target().
  Group(ShardIndex shard, std::size_t seal_bytes);

  /// Empties the group and opens it under this ordinal. REQUIRES: ordinal is not none.
  void open(GroupOrdinal ordinal);
  /// Closes it for records. `state`: the shard's state hash after them. REQUIRES: open, not empty.
  void seal(const StateHash& state);
  /// What the log gave: the LSN of position 0. Called by Log::commit only. REQUIRES: sealed.
  void place(Lsn first);

  RecordPosition on_item(const RecordStamp& stamp, const ItemRecord& record) override;
  RecordPosition on_reservation(const RecordStamp& stamp, const ReservationRecord& record) override;
  RecordPosition on_forget(const RecordStamp& stamp, const ForgetRecord& record) override;
  RecordPosition on_default_returns(const RecordStamp& stamp, const DefaultReturnsRecord& record) override;

  ShardIndex shard() const noexcept { return shard_; }
  GroupOrdinal ordinal() const noexcept { return ordinal_; }
  bool empty() const noexcept { return count_ == 0; }
  bool sealed() const noexcept { return sealed_; }
  /// Records, the CLOCK ones included: the LSNs that the group takes.
  std::uint32_t record_count() const noexcept { return count_; }
  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  bool wants_seal() const noexcept { return bytes_.size() >= seal_bytes_; }
  const StateHash& state() const noexcept { return state_; }
  /// The LSN of position 0, none until committed. Position p of the group has LSN first + p.
  Lsn first_lsn() const noexcept { return first_lsn_; }
  /// The latest wall stamp of its records.
  WallTime wall_max() const noexcept { return wall_max_; }

 private:
  std::uint16_t offset_of(const RecordStamp& stamp);
  RecordPosition took_record();

  ShardIndex shard_;
  std::size_t seal_bytes_;
  GroupOrdinal ordinal_;
  bool sealed_ = false;
  std::uint32_t count_ = 0;
  HoldTime clock_hold_{};
  WallTime clock_wall_{};
  WallTime wall_max_{};
  StateHash state_;
  Lsn first_lsn_;
  std::vector<std::byte> bytes_;
};

}  // namespace holdfast
