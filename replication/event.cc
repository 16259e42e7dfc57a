#include "replication/event.h"

namespace holdfast {

std::string_view Event::name() const noexcept {
  const auto* const of_reservation = reservation();
  return of_reservation != nullptr ? event_name(of_reservation->event) : event_name(item_change()->event);
}

bool Event::is(ItemEvent event) const noexcept {
  const auto* const of_item = item_change();
  return of_item != nullptr && of_item->event == event;
}

bool Event::is(ReservationEvent event) const noexcept {
  const auto* const of_reservation = reservation();
  return of_reservation != nullptr && of_reservation->event == event;
}

ItemFactsPointer facts_of(const RecordStamp& stamp, const ItemRecord& record) {
  return std::make_shared<const ItemFacts>(ItemFacts{stamp.item, std::string(record.name), record.version, record.state,
                                                     record.event == ItemEvent::drop, record.returns_held,
                                                     record.fenced, record.definition});
}

Event event_of(const RecordStamp& stamp, const ItemRecord& record, ItemFactsPointer item) {
  return {stamp.lsn,
          std::move(item),
          stamp.sequence,
          stamp.wall,
          record.after,
          ItemChange{record.event, record.by_window, record.delta, record.adjust_id, std::string(record.reason)}};
}

Event event_of(const RecordStamp& stamp, const ReservationRecord& record, ItemFactsPointer item) {
  std::optional<WallTime> expires_at;
  if (record.deadline) expires_at = stamp.wall + (*record.deadline - stamp.hold);
  return {stamp.lsn,
          std::move(item),
          stamp.sequence,
          stamp.wall,
          record.after,
          ReservationChange{record.event, record.id, record.user.text(), record.quantity, record.exclusive,
                            record.write_off, expires_at}};
}

std::int64_t total(const Counters& counters) noexcept {
  return counters.available + counters.reserved + counters.confirmed + counters.held;
}

}  // namespace holdfast
