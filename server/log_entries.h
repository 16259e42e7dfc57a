// Records as entries of a stream: an id "<LSN>-0" and flat pairs of field and value, with the names that `holdfastctl log
// dump` gives them and all times in Unix milliseconds. Texts are raw bytes. CLOCK records are no entries. One thread.
#pragma once

#include "protocol/reply_writer.h"
#include "storage/item_directory.h"

#include <string>
#include <vector>

namespace holdfast {

class LogEntries final : public RecordVisitor, public RecordExtras {
 public:
  /// Which records become entries: those in [from, through], until there are `count_max` of them or they have
  /// `bytes_max` bytes; the first one always does.
  struct Range {
    Lsn from;
    Lsn through;
    std::uint64_t count_max = UINT64_MAX;
    std::size_t bytes_max = SIZE_MAX;
  };

  /// `items` knows the items of all records that are read, and outlives this.
  LogEntries(const ItemDirectory& items, RespVersion version, const Range& range)
      : items_(items), version_(version), range_(range) {}

  bool full() const noexcept { return count_ >= range_.count_max || (count_ > 0 && bytes_.size() >= range_.bytes_max); }
  std::uint64_t count() const noexcept { return count_; }
  /// The first one's LSN, none without one.
  Lsn first() const noexcept { return first_; }
  /// The entries one after the other, as RESP.
  const std::string& bytes() const noexcept { return bytes_; }

  Result<void> on_item(const RecordStamp& stamp, const ItemRecord& record) override;
  Result<void> on_reservation(const RecordStamp& stamp, const ReservationRecord& record) override;
  Result<void> on_forget(const RecordStamp& stamp, const ForgetRecord& record) override;
  Result<void> on_default_returns(const RecordStamp& stamp, const DefaultReturnsRecord& record) override;
  void on_clock(const RecordStamp&) override {}
  void on_unknown(const RecordStamp& stamp, std::uint8_t type, std::size_t bytes) override;

 private:
  bool wanted(const RecordStamp& stamp) const noexcept {
    return stamp.lsn >= range_.from && stamp.lsn <= range_.through && !full();
  }
  void begin(std::string_view event);
  void text(std::string_view field, std::string_view value);
  void number(std::string_view field, std::int64_t value);
  void number(std::string_view field, std::uint64_t value);
  void item(const RecordStamp& stamp);
  void change(const RecordStamp& stamp);
  void counters(const Counters& counters);
  void definition(const ItemDefinition& definition);
  void end(const RecordStamp& stamp);

  const ItemDirectory& items_;
  RespVersion version_;
  Range range_;
  std::uint64_t count_ = 0;
  Lsn first_;
  std::string bytes_;
  std::string fields_;  // of the entry at hand
  std::size_t field_count_ = 0;
};

/// "<LSN>-0".
std::string entry_id(Lsn lsn);

}  // namespace holdfast
