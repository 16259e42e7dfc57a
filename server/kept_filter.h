// A filter of views as the owner keeps it: what is added as reservations are made, and the successor that is built from
// the rows a few at a time while the filter goes on being used. The owner's thread.
//
//   start -> build ... build -> take_next: the successor is used, and the one before is nobody's who begins to read
#pragma once

#include "server/view_hashes.h"

#include <memory>
#include <span>

namespace holdfast {

struct Item;
class Sale;
class ViewFilter;

class KeptFilter {
 public:
  enum class Keys : std::uint8_t { users, ids };

  /// Of an item. `bytes` counts the memory of all filters.
  KeptFilter(Keys keys, Item& item, const ViewHashes& hashes, std::size_t& bytes) noexcept;
  /// The users of all items of a sale.
  KeptFilter(const Sale& sale, const ViewHashes& hashes, std::size_t& bytes) noexcept;
  ~KeptFilter();
  KeptFilter(const KeptFilter&) = delete;
  KeptFilter& operator=(const KeptFilter&) = delete;

  /// What views may show; nothing before the first was built.
  const ViewFilter* used() const noexcept { return used_.get(); }
  /// What it shows rests on this group, because it was built from it.
  GroupOrdinal rests_on() const noexcept { return rests_on_; }

  /// A user has a live reservation, or an id is remembered, from now on. True: it should be built anew, larger.
  bool add(std::uint64_t hash);
  /// Whether most of what was added is gone, or it has grown full, and no successor is being built.
  bool outgrown() const noexcept;

  bool building() const noexcept { return next_ != nullptr; }
  /// Begins a successor. REQUIRES: none is being built.
  void start();
  /// Looks at up to `rows` rows and lowers it by as many; true when the successor is whole.
  bool build(std::uint32_t& rows);
  /// Rows that were looked at may have moved: they are looked at again.
  void look_again() noexcept { at_item_ = at_slot_ = 0; }
  /// The successor takes over; returns the filter before it, whose memory the caller counts from then on.
  std::unique_ptr<ViewFilter> take_next(GroupOrdinal rests_on);
  /// Gives up what is used, as take_next does.
  std::unique_ptr<ViewFilter> release();

 private:
  std::span<Item* const> items() const noexcept;
  std::uint64_t remembered() const noexcept;
  std::unique_ptr<ViewFilter> make() const;
  void drop_next();

  Keys keys_;
  Item* item_ = nullptr;  // this, or the sale
  const Sale* sale_ = nullptr;
  const ViewHashes& hashes_;
  std::size_t& bytes_;
  std::unique_ptr<ViewFilter> used_;
  std::unique_ptr<ViewFilter> next_;
  std::uint64_t added_ = 0;  // to what is used; keys that were there do not count
  std::uint64_t added_to_next_ = 0;
  std::uint32_t at_item_ = 0;  // where building goes on
  std::uint32_t at_slot_ = 0;
  GroupOrdinal rests_on_;
};

}  // namespace holdfast
