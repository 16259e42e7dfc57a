#include "tests/unit/server/record_tape.h"

namespace holdfast::testing {
namespace {

UserId kept_user(const UserId& user, std::string_view bytes) {
  return user.kind() == UserId::Kind::bytes ? UserId::from_bytes(bytes) : user;
}

struct Player {
  RecordVisitor& visitor;
  const RecordStamp& stamp;
  Result<void> operator()(const ItemRecord& record) const { return visitor.on_item(stamp, record); }
  Result<void> operator()(const ReservationRecord& record) const { return visitor.on_reservation(stamp, record); }
  Result<void> operator()(const ForgetRecord& record) const { return visitor.on_forget(stamp, record); }
  Result<void> operator()(const DefaultReturnsRecord& record) const {
    return visitor.on_default_returns(stamp, record);
  }
};

struct Writer {
  RecordSink& sink;
  const RecordStamp& stamp;
  void operator()(const ItemRecord& record) const { sink.on_item(stamp, record); }
  void operator()(const ReservationRecord& record) const { sink.on_reservation(stamp, record); }
  void operator()(const ForgetRecord& record) const { sink.on_forget(stamp, record); }
  void operator()(const DefaultReturnsRecord& record) const { sink.on_default_returns(stamp, record); }
};

}  // namespace

RecordPosition RecordTape::on_item(const RecordStamp& stamp, const ItemRecord& record) {
  ItemRecord copy = record;
  copy.name = keep(record.name);
  copy.reason = keep(record.reason);
  return add(stamp, copy);
}

RecordPosition RecordTape::on_reservation(const RecordStamp& stamp, const ReservationRecord& record) {
  ReservationRecord copy = record;
  if (record.user.kind() == UserId::Kind::bytes) copy.user = kept_user(record.user, keep(record.user.bytes()));
  return add(stamp, copy);
}

RecordPosition RecordTape::on_forget(const RecordStamp& stamp, const ForgetRecord& record) {
  return add(stamp, record);
}

RecordPosition RecordTape::on_default_returns(const RecordStamp& stamp, const DefaultReturnsRecord& record) {
  return add(stamp, record);
}

Result<void> RecordTape::play(std::size_t first, RecordVisitor& visitor) const {
  for (std::size_t i = first; i < entries_.size(); ++i) HOLDFAST_TRY(play_one(i, visitor));
  return {};
}

Result<void> RecordTape::play_one(std::size_t i, RecordVisitor& visitor) const {
  return std::visit(Player{visitor, entries_[i].stamp}, entries_[i].record);
}

void RecordTape::write(std::size_t first, RecordSink& sink) const {
  for (std::size_t i = first; i < entries_.size(); ++i) std::visit(Writer{sink, entries_[i].stamp}, entries_[i].record);
}

std::string_view RecordTape::keep(std::string_view bytes) {
  return bytes.empty() ? std::string_view() : texts_.emplace_back(bytes);
}

template <class Record>
RecordPosition RecordTape::add(const RecordStamp& stamp, const Record& record) {
  entries_.push_back({stamp, record});
  entries_.back().stamp.lsn = lsn(entries_.size() - 1);
  return static_cast<RecordPosition>(entries_.size() - 1 - group_first_);
}

}  // namespace holdfast::testing
