// One version of an item, as the inventory keeps it. Data; its meaning is kept by Inventory. One thread at a time.
#pragma once

#include "server/adjust_ids.h"
#include "server/item_notice.h"
#include "server/outcomes.h"
#include "server/sale.h"
#include "storage/state_hash.h"

namespace holdfast {

/// A name that was ever loaded: its version, or the tombstone of the last one.
struct NamedItem {
  std::string name;
  ItemVersion version;          // the highest ever used
  std::uint32_t position = 0;   // in the order of ITEM LIST, stable
  struct Item* item = nullptr;  // none: a tombstone
};

struct Item {
  NamedItem* named = nullptr;
  std::uint32_t index = 0;  // of this item among the inventory's; used again after DROP
  ItemNumber number;
  ItemVersion version;
  ItemState state = ItemState::draft;
  bool returns_held = false;
  bool fenced = false;
  bool touched = false;                   // since the last seal
  Selling announced = Selling::not_open;  // as it was at the last seal
  Sequence sequence;
  ItemDefinition definition;
  ItemDefinition loaded;  // as LOAD gave it
  Counters counters;
  std::int64_t total = 0;
  GroupOrdinal changed;             // the group of the last change
  StateHash hash;                   // as last added to the inventory's sum
  Sale* sale = nullptr;             // SCOPE sale only
  struct KeptView* view = nullptr;  // the view keeper's; none before the first refusal
  std::unique_ptr<ItemRows> rows;
  AdjustIds adjusts;

  ItemName name() const { return ItemName::from_stored(named->name); }
  bool has_live() const noexcept { return counters.reserved + counters.confirmed > 0; }
};

/// Why an item in this state takes no RESERVE. For OPEN: that it is sold out, if it is.
constexpr ReserveOutcome state_refusal(ItemState state) noexcept {
  switch (state) {
    case ItemState::closed:
      return ReserveOutcome::closed;
    case ItemState::paused:
      return ReserveOutcome::paused;
    case ItemState::draft:
    case ItemState::ready:
      return ReserveOutcome::not_open;
    case ItemState::open:
      break;
  }
  return ReserveOutcome::sold_out;
}

/// When the item opens or closes by itself; not set: never.
inline WallTime next_window(const Item& item) noexcept {
  if (item.state == ItemState::ready) return item.definition.opens_at;
  if (item.state == ItemState::open || item.state == ItemState::paused) return item.definition.closes_at;
  return {};
}

}  // namespace holdfast
