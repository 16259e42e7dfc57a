#include "replication/order_fold.h"

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstring>
#include <map>

namespace holdfast {
namespace {

/// One reservation of one item version.
struct ReservationKey {
  ItemNumber item;
  ReservationId id;
  bool operator==(const ReservationKey&) const noexcept = default;
};

struct ReservationKeyHash {
  std::size_t operator()(const ReservationKey& key) const noexcept {
    std::uint64_t words[2];
    std::memcpy(words, key.id.bytes().data(), sizeof words);
    return (words[0] * 0x9e3779b97f4a7c15 ^ words[1]) * 0xff51afd7ed558ccd ^ key.item.value();
  }
};

class Folder {
 public:
  Result<void> add(const EventStep& step) {
    const Event& event = *step.event;
    ItemSum& sum = items_[event.item->number];
    sum.item = event.item;
    sum.stock_delta += step.stock_delta;
    sum.last = event.sequence;
    sum.last_at = event.at;
    sum.described |= event.item_change() != nullptr;
    if (event.reservation() == nullptr) return {};
    const auto [place, is_new] = places_.try_emplace({event.item->number, event.reservation()->id}, changes_.size());
    if (is_new) {
      changes_.push_back(begin_change(event));
      return {};
    }
    OrderChange& change = changes_[place->second];
    const bool again = event.is(ReservationEvent::reserve);
    if (!again || !change.from) return follow_change(change, event);
    // The row that is there ends, and one of the same key begins anew.
    OrderChange next = change;
    HOLDFAST_TRY(follow_change(next, event));
    next.from.reset();
    next.first = event.sequence;
    place->second = changes_.size();
    changes_.push_back(std::move(next));
    return {};
  }

  OrderFold take() {
    OrderFold fold;
    for (OrderChange& change : changes_) {
      items_[change.item].sold_delta += change.sold_delta();
      auto& to = !change.from ? fold.inserts : change.resumes() ? fold.resumes : fold.updates;
      to.push_back(std::move(change));
    }
    for (auto& [number, sum] : items_) fold.items.push_back(std::move(sum));
    return fold;
  }

 private:
  std::vector<OrderChange> changes_;
  boost::unordered_flat_map<ReservationKey, std::size_t, ReservationKeyHash> places_;
  std::map<ItemNumber, ItemSum> items_;
};

}  // namespace

Result<OrderFold> fold_steps(std::span<const EventStep> steps) {
  Folder folder;
  for (const EventStep& step : steps) HOLDFAST_TRY(folder.add(step));
  return folder.take();
}

}  // namespace holdfast
