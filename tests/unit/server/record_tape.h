// Keeps the records that steps make, with copies of all they point to, and plays them to a visitor as a log's reader
// would: with LSNs, one after the other. One thread at a time.
#pragma once

#include "storage/record.h"

#include <deque>
#include <variant>
#include <vector>

namespace holdfast::testing {

class RecordTape final : public RecordSink {
 public:
  RecordPosition on_item(const RecordStamp& stamp, const ItemRecord& record) override;
  RecordPosition on_reservation(const RecordStamp& stamp, const ReservationRecord& record) override;
  RecordPosition on_forget(const RecordStamp& stamp, const ForgetRecord& record) override;
  RecordPosition on_default_returns(const RecordStamp& stamp, const DefaultReturnsRecord& record) override;

  /// Record i has LSN i + 2: there is room for a CLOCK record before any of them.
  std::size_t size() const noexcept { return entries_.size(); }
  /// Plays records first..size()-1.
  Result<void> play(std::size_t first, RecordVisitor& visitor) const;
  Result<void> play_one(std::size_t i, RecordVisitor& visitor) const;
  /// Gives records first..size()-1 to a sink, as their step did.
  void write(std::size_t first, RecordSink& sink) const;
  static Lsn lsn(std::size_t i) noexcept { return Lsn(i + 2); }
  /// The next record is position 0 of its group.
  void begin_group() noexcept { group_first_ = entries_.size(); }
  Lsn group_first_lsn() const noexcept { return lsn(group_first_); }

  struct Entry {
    RecordStamp stamp;
    std::variant<ItemRecord, ReservationRecord, ForgetRecord, DefaultReturnsRecord> record;
  };
  const Entry& entry(std::size_t i) const { return entries_.at(i); }
  template <class Record>
  const Record& record(std::size_t i) const {
    return std::get<Record>(entries_.at(i).record);
  }

 private:
  std::string_view keep(std::string_view bytes);
  template <class Record>
  RecordPosition add(const RecordStamp& stamp, const Record& record);

  std::vector<Entry> entries_;
  std::deque<std::string> texts_;  // what the entries' views point to
  std::size_t group_first_ = 0;
};

}  // namespace holdfast::testing
