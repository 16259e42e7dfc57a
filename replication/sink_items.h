// The items that a sink has seen, by number: records of reservations name their item by number only, so that a relay needs
// this to go on at any LSN. Each sink keeps it with its cursor. Holds the versions that can still change: no more than
// the server itself. One thread.
#pragma once

#include "replication/event.h"

#include <unordered_map>

namespace holdfast {

class SinkItems {
 public:
  /// Takes what an item is now. A new version ends the older ones of its name; a dropped one is ended itself.
  void put(const ItemFactsPointer& item);
  /// Null when no such item is known, or when it has ended.
  ItemFactsPointer find(ItemNumber number) const;
  std::size_t size() const noexcept { return by_number_.size(); }

 private:
  std::unordered_map<ItemNumber, ItemFactsPointer> by_number_;
  std::unordered_map<std::string, ItemNumber> by_name_;
};

}  // namespace holdfast
