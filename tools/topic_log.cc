#include "tools/topic_log.h"

#include "storage/record_reader.h"

namespace holdfast {

/// What each item is after its first change as a whole.
class TopicLog::Names final : public RecordAcceptor {
 public:
  Result<void> on_item(const RecordStamp& stamp, const ItemRecord& record) override {
    ItemFactsPointer& first = facts[stamp.item.value()];
    if (first == nullptr) first = facts_of(stamp, record);
    return {};
  }

  Facts facts;
};

class TopicLog::Changes final : public RecordAcceptor {
 public:
  Changes(const Facts& first, const SinkItems& items, const OnChange& on_change)
      : first_(first), items_(items), on_change_(on_change) {}

  Result<void> on_item(const RecordStamp& stamp, const ItemRecord& record) override {
    ItemFactsPointer& facts = now_[stamp.item.value()];
    facts = facts_of(stamp, record);
    return on_change_(event_of(stamp, record, facts), true);
  }

  Result<void> on_reservation(const RecordStamp& stamp, const ReservationRecord& record) override {
    if (const auto place = now_.find(stamp.item.value()); place != now_.end())
      return on_change_(event_of(stamp, record, place->second), true);
    if (const auto place = first_.find(stamp.item.value()); place != first_.end())
      return on_change_(event_of(stamp, record, place->second), false);
    if (auto facts = items_.find(stamp.item)) return on_change_(event_of(stamp, record, std::move(facts)), true);
    return Error::format(ErrorCode::damaged, "LSN {} is of item number {}, which neither the log nor the sink names",
                         stamp.lsn.value(), stamp.item.value());
  }

 private:
  const Facts& first_;
  const SinkItems& items_;
  const OnChange& on_change_;
  Facts now_;
};

Result<void> TopicLog::read(Lsn through, const SinkItems& items, const OnChange& on_change, const Progress& progress) {
  Names names;
  // A log that is whole names each item before all else.
  if (log_.oldest() > Lsn(1)) HOLDFAST_TRY(visit(log_.durable(), names, progress));
  Changes changes(names.facts, items, on_change);
  return visit(through, changes, progress);
}

Result<void> TopicLog::visit(Lsn through, RecordVisitor& visitor, const Progress& progress) {
  if (log_.oldest() > through) return {};
  return log_.read(log_.oldest(), [&](const BatchHeader& header, std::span<const std::byte> body) -> Result<bool> {
    if (header.first_lsn > through) return false;
    const auto read = read_records({body, header.first_lsn, header.count, Lsn()}, visitor);
    if (!read) return read.error();
    progress(header.last_lsn());
    return true;
  });
}

}  // namespace holdfast
