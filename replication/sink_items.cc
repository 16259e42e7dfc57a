#include "replication/sink_items.h"

namespace holdfast {

void SinkItems::put(const ItemFactsPointer& item) {
  const auto [place, is_new] = by_name_.try_emplace(item->name, item->number);
  if (!is_new && place->second != item->number) {
    by_number_.erase(place->second);
    place->second = item->number;
  }
  if (item->dropped) {
    by_number_.erase(item->number);
    by_name_.erase(place);
    return;
  }
  by_number_[item->number] = item;
}

ItemFactsPointer SinkItems::find(ItemNumber number) const {
  const auto place = by_number_.find(number);
  return place == by_number_.end() ? nullptr : place->second;
}

}  // namespace holdfast
