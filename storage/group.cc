#include "storage/group.h"

#include "protocol/check.h"
#include "storage/limits.h"
#include "storage/record_writer.h"

namespace holdfast {

Group::Group(ShardIndex shard, std::size_t seal_bytes) : shard_(shard), seal_bytes_(seal_bytes) {
  CHECK(seal_bytes > 0 && seal_bytes <= kBatchBytesMax);
  bytes_.reserve(seal_bytes + kRecordBytesMax);
}

void Group::open(GroupOrdinal ordinal) {
  CHECK(ordinal > GroupOrdinal());
  ordinal_ = ordinal;
  sealed_ = false;
  count_ = 0;
  first_lsn_ = Lsn();
  wall_max_ = WallTime();
  bytes_.clear();
}

void Group::seal(const StateHash& state) {
  CHECK(ordinal_ > GroupOrdinal() && !sealed_ && count_ > 0);
  sealed_ = true;
  state_ = state;
}

void Group::place(Lsn first) {
  CHECK(sealed_ && first > Lsn());
  first_lsn_ = first;
}

RecordPosition Group::on_item(const RecordStamp& stamp, const ItemRecord& record) {
  write_item(bytes_, offset_of(stamp), stamp, record);
  return took_record();
}

RecordPosition Group::on_reservation(const RecordStamp& stamp, const ReservationRecord& record) {
  write_reservation(bytes_, offset_of(stamp), stamp, record);
  return took_record();
}

RecordPosition Group::on_forget(const RecordStamp& stamp, const ForgetRecord& record) {
  write_forget(bytes_, offset_of(stamp), stamp, record);
  return took_record();
}

RecordPosition Group::on_default_returns(const RecordStamp& stamp, const DefaultReturnsRecord& record) {
  write_default_returns(bytes_, offset_of(stamp), record);
  return took_record();
}

std::uint16_t Group::offset_of(const RecordStamp& stamp) {
  CHECK(ordinal_ > GroupOrdinal() && !sealed_);
  wall_max_ = std::max(wall_max_, stamp.wall);
  const Millis hold = stamp.hold - clock_hold_;
  const Millis wall = stamp.wall - clock_wall_;
  if (count_ > 0 && hold == wall && hold.count() >= 0 && hold.count() <= UINT16_MAX) {
    return static_cast<std::uint16_t>(hold.count());
  }
  clock_hold_ = stamp.hold;
  clock_wall_ = stamp.wall;
  write_clock(bytes_, clock_hold_, clock_wall_);
  ++count_;
  return 0;
}

RecordPosition Group::took_record() {
  CHECK(bytes_.size() <= kGroupRecordBytesMax && count_ < UINT32_MAX);
  return count_++;
}

}  // namespace holdfast
