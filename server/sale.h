// The SCOPE-sale items that share a hash tag, and how many live units each user has over all of them.
// One thread at a time.
#pragma once

#include "server/item_rows.h"

#include <string>
#include <vector>

namespace holdfast {

struct Item;
class KeptFilter;

class Sale {
 public:
  Sale(RowPools& pools, std::string tag);
  ~Sale();

  const std::string& tag() const noexcept { return tag_; }
  std::int64_t units(const UserId& user) const;
  /// A reservation of this user became live, or is live no longer. REQUIRES: what is removed was added.
  void add(const UserId& user, ItemNumber item, RowSlot slot, std::int64_t quantity);
  void remove(const UserId& user, ItemNumber item, RowSlot slot, std::int64_t quantity);
  /// As `add`, of what a snapshot has; `newest`: it is the user's newest live one.
  void restore(const UserId& user, ItemNumber item, RowSlot slot, std::int64_t quantity, bool newest);
  bool is_newest(const UserId& user, ItemNumber item, RowSlot slot) const;
  /// The item of the user's newest live reservation, where that is known: none once that one has ended.
  ItemNumber newest_item(const UserId& user) const;

  /// Users with a live reservation.
  std::uint64_t live_users() const noexcept { return users_.size(); }

  std::vector<Item*> items;
  KeptFilter* users_filter = nullptr;  // the view keeper's; none before an item's first refusal
  GroupOrdinal changed;                // the newest group in which one of the items changed

 private:
  struct Entry {
    UserRef user;
    std::int64_t units;
    std::uint64_t count;        // live reservations
    std::uint64_t newest_item;  // 0: not known
    std::uint32_t newest_slot;
  };
  static constexpr std::uint32_t kUnitBytes = 8;
  static constexpr std::uint32_t kEntryUnits = sizeof(Entry) / kUnitBytes;

  Entry& entry_at(UnitPool::Handle handle) const { return *reinterpret_cast<Entry*>(pools_.several.at(handle)); }
  Entry& entry_of(const UserId& user);
  Entry* find(const UserId& user, std::uint64_t hash) const;

  RowPools& pools_;
  std::string tag_;
  CellIndex users_;
};

}  // namespace holdfast
