#include "tests/unit/replication/log_maker.h"

#include "protocol/check.h"
#include "storage/log_files.h"
#include "storage/segment_writer.h"
#include "storage/snapshot_writer.h"

#include <cstring>

namespace holdfast::test {

ReservationId id_of(std::uint64_t number) {
  std::array<std::uint8_t, ReservationId::kBytes> bytes{};
  for (std::size_t i = 0; i < 8; ++i) bytes[15 - i] = static_cast<std::uint8_t>(number >> (8 * i));
  return ReservationId(bytes);
}

RecordStamp LogMaker::stamp(Item& item) {
  if (!open_) group_.open(GroupOrdinal(++ordinal_));
  open_ = true;
  item.sequence = item.sequence.next();
  return {Lsn(), hold, wall, item.number, item.sequence};
}

LogMaker::Item& LogMaker::create(const std::string& name, std::int64_t stock, const ItemDefinition& definition) {
  Item& item = items_[name];
  item = {ItemNumber(next_number_++), name, item.version.next(), ItemState::draft, definition, {stock, 0, 0, 0}, {}};
  item.definition.stock = stock;
  change(item, ItemEvent::load);
  change(item, ItemEvent::open);
  return item;
}

void LogMaker::change(Item& item, ItemEvent event, std::int64_t delta, ReservationId adjust_id) {
  if (event == ItemEvent::open) item.state = ItemState::open;
  if (event == ItemEvent::close) item.state = ItemState::closed;
  if (event == ItemEvent::adjust || event == ItemEvent::stock) item.counters.available += delta;
  ItemRecord record;
  record.event = event;
  record.name = item.name;
  record.version = item.version;
  record.state = item.state;
  record.definition = item.definition;
  record.after = item.counters;
  record.total = item.counters.available + item.counters.reserved + item.counters.confirmed + item.counters.held;
  record.delta = delta;
  record.adjust_id = adjust_id;
  record.reason = event == ItemEvent::adjust ? "counted anew" : "";
  const auto at = stamp(item);
  group_.on_item(at, record);
}

void LogMaker::reserve(Item& item, std::uint64_t id, const std::string& user, std::int64_t quantity) {
  reservations_[{item.number.value(), id}] = {user, quantity, ReservationState::reserved, hold, {}, false};
  item.counters.available -= quantity;
  item.counters.reserved += quantity;
  put(item, id, ReservationEvent::reserve, false);
}

void LogMaker::follow(Item& item, std::uint64_t id, ReservationEvent event, bool write_off) {
  Reservation& reservation = reservations_.at({item.number.value(), id});
  const std::int64_t quantity = reservation.quantity;
  std::int64_t& source =
      reservation.state == ReservationState::reserved ? item.counters.reserved : item.counters.confirmed;
  const auto move = [&](std::int64_t& from, std::int64_t* to, ReservationState state) {
    from -= quantity;
    if (to != nullptr) *to += quantity;
    reservation.state = state;
  };
  std::int64_t* const back = write_off ? nullptr : &item.counters.available;
  if (event == ReservationEvent::confirm) move(source, &item.counters.confirmed, ReservationState::confirmed);
  if (event == ReservationEvent::resume)
    move(item.counters.available, &item.counters.confirmed, ReservationState::confirmed);
  if (event == ReservationEvent::release) move(source, back, ReservationState::released);
  if (event == ReservationEvent::expire) move(source, back, ReservationState::expired);
  if (event == ReservationEvent::refund) move(source, back, ReservationState::refunded);
  put(item, id, event, write_off);
}

void LogMaker::put(Item& item, std::uint64_t id, ReservationEvent event, bool write_off) {
  Reservation& reservation = reservations_.at({item.number.value(), id});
  ReservationRecord record;
  record.event = event;
  const bool taken = event == ReservationEvent::reserve || event == ReservationEvent::resume;
  if (taken) reservation.exclusive = item.definition.is_exclusive();
  record.exclusive = taken && reservation.exclusive;
  record.write_off = write_off;
  record.id = id_of(id);
  record.user = *UserId::parse(reservation.user);
  record.quantity = Quantity(reservation.quantity);
  if (event == ReservationEvent::reserve) record.deadline = hold + item.definition.ttl;
  if (event == ReservationEvent::extend) record.deadline = hold + 2 * item.definition.ttl;
  record.after = item.counters;
  const auto at = stamp(item);
  reservation.last = at.sequence;
  group_.on_reservation(at, record);
}

void LogMaker::forget(Item& item) {
  if (!open_) group_.open(GroupOrdinal(++ordinal_));
  open_ = true;
  group_.on_forget({Lsn(), hold, wall, item.number, Sequence()}, {item.sequence, 1});
}

std::string LogMaker::batch() {
  CHECK(open_);
  group_.seal({});
  const auto body = group_.bytes();
  std::string bytes(segment_format::padded_bytes(body.size()), '\0');
  std::memcpy(bytes.data() + segment_format::kBatchHeaderBytes, body.data(), body.size());
  BatchHeader header;
  header.log_tag = log_tag(log);
  header.segment = 1;
  header.epoch = 1;
  header.first_lsn = next_lsn_;
  header.count = group_.record_count();
  header.body_bytes = static_cast<std::uint32_t>(body.size());
  header.durable_lsn = Lsn(next_lsn_.value() - 1);
  header.previous_sum = sum_;
  seal_batch(std::as_writable_bytes(std::span(bytes)), header);
  sum_ = header.body_sum;
  next_lsn_ = header.last_lsn().next();
  open_ = false;
  return bytes;
}

SnapshotReader LogMaker::snapshot(FileSystem& files) const {
  CHECK(!open_);
  SnapshotHeader header;
  header.log.id = log;
  header.lsn = Lsn(next_lsn_.value() - 1);
  header.incarnation = 1;
  header.clocks.hold = hold.time_since_epoch();
  header.clocks.wall = wall.time_since_epoch();
  CHECK(files.make_directory("/snapshots"));
  auto writer = SnapshotWriter::begin(files, "/snapshots", header);
  CHECK(writer && (*writer)->on_log({ItemNumber(next_number_ - 1), false}));
  for (const auto& [name, item] : items_) CHECK((*writer)->on_name({name, item.version}));
  for (const auto& [name, item] : items_) {
    SnapshotItem entry;
    entry.number = item.number;
    entry.version = item.version;
    entry.state = item.state;
    entry.sequence = item.sequence;
    entry.base = hold_time(0);
    entry.counters = item.counters;
    entry.total = item.counters.available + item.counters.reserved + item.counters.confirmed + item.counters.held;
    entry.name = name;
    entry.definition = entry.loaded = item.definition;
    entry.slots = static_cast<std::uint32_t>(reservations_.size());
    CHECK((*writer)->on_item(entry));
    CHECK(put_rows(**writer, item));
    CHECK((*writer)->on_item_end());
  }
  CHECK((*writer)->publish());
  auto reader = SnapshotReader::open(files, snapshot_path("/snapshots", header.lsn));
  CHECK(reader);
  return std::move(*reader);
}

Result<void> LogMaker::put_rows(SnapshotVisitor& visitor, const Item& item) const {
  SnapshotRow row;
  for (const auto& [key, reservation] : reservations_) {
    if (key.first != item.number.value()) continue;
    const auto user = UserId::parse(reservation.user);
    row.state = reservation.state;
    row.exclusive = reservation.exclusive;
    row.id = id_of(key.second);
    row.user = *user;
    row.quantity = reservation.quantity;
    row.created = reservation.created;
    row.time.reset();
    if (row.state == ReservationState::reserved) row.time = row.created + item.definition.ttl;
    if (row.state > ReservationState::confirmed) row.time = hold;
    row.sequence = reservation.last;
    row.lsn = Lsn(next_lsn_.value() - 1);
    HOLDFAST_TRY(visitor.on_row(row));
    ++row.slot;
  }
  return {};
}

}  // namespace holdfast::test
