#include "replication/known_items.h"

#include "protocol/check.h"

#include <unordered_set>

namespace holdfast {

std::vector<std::span<const Event>> split_at_loads(std::span<const Event> events) {
  std::vector<std::span<const Event>> pieces;
  std::unordered_set<std::string_view> names;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const bool is_known = !names.insert(events[i].item->name).second;
    if (!is_known || !events[i].is(ItemEvent::load)) continue;
    pieces.push_back(events.subspan(begin, i - begin));
    begin = i;
    names.clear();
    names.insert(events[i].item->name);
  }
  if (begin < events.size()) pieces.push_back(events.subspan(begin));
  return pieces;
}

void KnownItems::put(KnownItem item) {
  const ItemNumber number = item.facts->number;
  items_.insert_or_assign(number, std::move(item));
}

const KnownItem& KnownItems::at(ItemNumber number) const {
  const auto place = items_.find(number);
  CHECK(place != items_.end());
  return place->second;
}

std::vector<const KnownItem*> KnownItems::without_place() const {
  std::vector<const KnownItem*> found;
  for (const auto& [number, item] : items_) {
    const bool kept_out = item.refused && item.refused->reason != ParkReason::bad_id;
    if (kept_out && !item.facts->dropped) found.push_back(&item);
  }
  return found;
}

Result<std::vector<EventStep>> KnownItems::take(std::span<const Event> events) {
  std::vector<EventStep> steps;
  steps.reserve(events.size());
  for (const Event& event : events) {
    const auto place = items_.find(event.item->number);
    const Sequence before = place == items_.end() ? Sequence() : place->second.sequence;
    if (place == items_.end() || event.sequence != before.next()) {
      return Error::format(
          ErrorCode::damaged,
          "LSN {} is change {} of item number {}, of which the tables have {}: cursor and tables are not of "
          "one time; somebody changed the cursor, or restored some of the tables",
          event.lsn.value(), event.sequence.value(), event.item->number.value(), before.value());
    }
    KnownItem& item = place->second;
    const bool fence = event.is(ItemEvent::fence) || event.is(ItemEvent::unfence);
    const std::int64_t after = fence ? item.total : total(event.after);
    const std::int64_t delta = event.is(ItemEvent::load) ? 0 : after - item.total;
    item.total = after;
    item.sequence = event.sequence;
    item.facts = event.item;
    touched_.insert(event.item->number);
    steps.push_back({&event, delta});
  }
  return steps;
}

}  // namespace holdfast
