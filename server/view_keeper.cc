#include "server/view_keeper.h"

#include "server/item_view.h"
#include "server/limits.h"

#include <algorithm>

namespace holdfast {
namespace {

/// The largest number of milliseconds that nanoseconds can tell.
constexpr HoldTime kEndMax{std::chrono::duration_cast<Millis>(std::chrono::nanoseconds::max())};

bool sells(const Item& item) noexcept { return item.state == ItemState::open && item.counters.available > 0; }

/// Until when what is said of an item holds by itself: a unit comes back, or a window opens or closes.
HoldTime end_of(const Item& item, const Now& now) noexcept {
  HoldTime end = std::min(item.rows->deadline_bound(), kEndMax);
  if (const WallTime window = next_window(item); window != WallTime()) {
    end = std::min(end, now.hold + (window - now.wall));
  }
  return end;
}

}  // namespace

struct KeptView {
  KeptView(Item& of, const ViewHashes& hashes, std::size_t& bytes)
      : item(of),
        view(std::make_unique<ItemView>()),
        ids(KeptFilter::Keys::ids, of, hashes, bytes),
        users(KeptFilter::Keys::users, of, hashes, bytes) {}

  Item& item;
  std::unique_ptr<ItemView> view;
  KeptFilter ids;
  KeptFilter users;  // not of a SCOPE-sale item
  bool published = false;
  bool lacks_filter = false;         // which is being built
  bool waits = false;                // is in waiting_
  std::size_t position = 0;          // in kept_
  std::vector<std::uint32_t> known;  // by thread: refusals that it was answered since it was told, 0: never told
};

struct ViewKeeper::Retired {
  RetireTicket ticket;
  std::unique_ptr<ItemView> view;
  std::unique_ptr<ViewFilter> ids;
  std::unique_ptr<ViewFilter> users;

  std::size_t bytes() const noexcept {
    return (view ? sizeof(ItemView) : 0) + (ids ? ids->bytes() : 0) + (users ? users->bytes() : 0);
  }
};

ViewKeeper::ViewKeeper(bool on, const LogSecret& secret) : on_(on), hashes_(ViewHashes::of(secret)) {}

ViewKeeper::~ViewKeeper() = default;

bool ViewKeeper::is_published(const Item& item) noexcept { return item.view != nullptr && item.view->published; }

const ItemView* ViewKeeper::view_of(const Item& item) noexcept {
  return item.view == nullptr ? nullptr : item.view->view.get();
}

std::size_t ViewKeeper::bytes() const noexcept {
  return kept_.size() * (sizeof(KeptView) + sizeof(ItemView)) + filter_bytes_ + retired_bytes_;
}

/// Once withdrawn, until it is published again nothing needs to be done at a change but to look at the item later.
void ViewKeeper::withdraw(KeptView& kept) {
#if HOLDFAST_MUTANT != 30
  if (kept.published) kept.view->withdraw();
#endif
  kept.published = false;
  await(kept);
}

void ViewKeeper::await(KeptView& kept) {
  if (kept.waits) return;
  kept.waits = true;
  waiting_.push_back(&kept);
}

void ViewKeeper::add(const Item& item, const UserId& user, const ReservationId& id) {
#if HOLDFAST_MUTANT == 33
  if (item.view != nullptr) return;
#endif
  if (item.view != nullptr && item.view->ids.add(hashes_.id(id))) start(item.view->ids, item.view, nullptr);
  if (item.sale != nullptr) {
    KeptFilter* users = item.sale->users_filter;
    if (users != nullptr && users->add(hashes_.user(user))) start(*users, nullptr, item.sale);
  } else if (item.view->users.add(hashes_.user(user))) {
    start(item.view->users, item.view, nullptr);
  }
}

void ViewKeeper::refused(Item& item, const Now& now) {
  if (!on_) return;
  if (item.view == nullptr) {
    if (!sells(item)) begin(item);
    return;
  }
  KeptView& kept = *item.view;
#if HOLDFAST_MUTANT != 29
  // Most refusals here come while a change is on its way to the log.
  if (kept.published || kept.lacks_filter || (kept.waits && item.changed > durable_)) return;
#endif
  see(now);
  if (!kept.published && !try_publish(kept, now)) await(kept);
}

/// The item refuses for the first time.
void ViewKeeper::begin(Item& item) {
  auto made = std::make_unique<KeptView>(item, hashes_, filter_bytes_);
  item.view = made.get();
  made->position = kept_.size();
  kept_.push_back(std::move(made));
  start(item.view->ids, item.view, nullptr);
  static_cast<void>(filters_ready(*item.view));
}

/// The users whom a refusal by the limit might meet; nothing when there is no limit. A sale's are kept from the first
/// refusal of one of its items on.
KeptFilter* ViewKeeper::users_of(KeptView& kept) {
  const Item& item = kept.item;
  if (item.definition.limit == 0) return nullptr;
  if (item.sale == nullptr) return &kept.users;
  Sale& sale = *item.sale;
  if (sale.users_filter == nullptr) {
    sale_filters_.push_back(std::make_unique<KeptFilter>(sale, hashes_, filter_bytes_));
    sale.users_filter = sale_filters_.back().get();
  }
  return sale.users_filter;
}

/// Whether the filters that the item's view needs are built; those that are not, or are to be built anew, are begun.
bool ViewKeeper::filters_ready(KeptView& kept) {
  bool ready = true;
  const auto look = [&](KeptFilter& filter, KeptView* of, Sale* sale) {
    if (filter.used() == nullptr) ready = false, kept.lacks_filter = true;
    if (!filter.building() && (filter.used() == nullptr || filter.outgrown())) start(filter, of, sale);
  };
  look(kept.ids, &kept, nullptr);
  KeptFilter* users = users_of(kept);
  if (users == nullptr) return ready;
  const bool own = users == &kept.users;
  look(*users, own ? &kept : nullptr, own ? nullptr : kept.item.sale);
  return ready;
}

void ViewKeeper::start(KeptFilter& filter, KeptView* kept, Sale* sale) {
  filter.start();
  building_.push_back({&filter, kept, sale});
}

bool ViewKeeper::work(const Now& now) {
  std::uint32_t rows = kFilterRowsPerTurn;
  std::size_t finished = 0;
  while (finished < kFiltersPerTurn && !building_.empty() && building_.front().filter->build(rows)) {
    finish(building_.front());
    building_.pop_front();
    ++finished;
  }
  if (finished > 0) publish(now);
  return has_work();
}

/// The successor is whole. Views that show the filter before it are withdrawn first, and come back when what the
/// successor shows, and leaves out, is durable.
void ViewKeeper::finish(const Building& built) {
  const auto withdraw_one = [&](Item& item) {
    if (item.view == nullptr) return;
    withdraw(*item.view);
    item.view->lacks_filter = false;
  };
  GroupOrdinal rests_on;
  if (built.sale != nullptr) {
    rests_on = built.sale->changed;
    for (Item* item : built.sale->items) withdraw_one(*item);
  } else {
    rests_on = built.kept->item.changed;
    withdraw_one(built.kept->item);
  }
  retire(nullptr, built.filter->take_next(rests_on), nullptr);
}

void ViewKeeper::see(const Now& now) {
  const Millis difference = now.wall.time_since_epoch() - now.hold.time_since_epoch();
  if (!wall_minus_hold_) wall_minus_hold_ = difference;
  if (std::chrono::abs(difference - *wall_minus_hold_) <= kClockStepMax) return;
  wall_minus_hold_ = difference;
  for (const auto& kept : kept_) withdraw(*kept);
}

void ViewKeeper::publish(const Now& now) {
  see(now);
  std::size_t left = 0;
  for (KeptView* kept : waiting_) {
    kept->waits = !kept->published && !try_publish(*kept, now);
    if (kept->waits) waiting_[left++] = kept;
  }
  waiting_.resize(left);
}

/// False: not yet, because something is not durable. What sells, is fenced or lacks a filter is looked at again when it
/// changes, is refused, or has its filter.
bool ViewKeeper::try_publish(KeptView& kept, const Now& now) {
  const Item& item = kept.item;
  if (!on_ || item.fenced || sells(item) || !filters_ready(kept)) return true;
  const KeptFilter* users = users_of(kept);
#if HOLDFAST_MUTANT != 29
  if (item.changed > durable_ || kept.ids.rests_on() > durable_) return false;
  if (users != nullptr && users->rests_on() > durable_) return false;
#endif
  const HoldTime end = end_of(item, now);
  if (end - (now.hold + now.round_up) < kViewLifeMin) return true;
  ViewContent content;
  content.refusal = {state_refusal(item.state), item.sequence, item.counters.reserved, item.definition.opens_at};
  content.limit = item.definition.limit;
  content.valid_until = end.time_since_epoch();
  content.users = users == nullptr ? nullptr : users->used();
  content.ids = kept.ids.used();
  kept.view->publish(content);
  kept.published = true;
  return true;
}

void ViewKeeper::end() {
  on_ = false;
  for (const auto& kept : kept_) withdraw(*kept);
}

void ViewKeeper::tell(const Item* item, std::size_t thread) {
  if (item == nullptr || !is_published(*item)) return;
  KeptView& kept = *item->view;
  if (kept.known.size() <= thread) kept.known.resize(thread + 1);
  std::uint32_t& answered = kept.known[thread];
  // A thread that goes on asking may have had no room to keep what it was told.
  if (answered == kTellAgainAfter) answered = 0;
  if (answered++ != 0) return;
  told_ = true;
  if (news_.size() <= thread) news_.resize(thread + 1);
  const auto is_told = [&](const ViewNews& one) { return one.view == kept.view.get(); };
  if (std::none_of(news_[thread].begin(), news_[thread].end(), is_told)) {
    news_[thread].push_back({item->named->name, kept.view.get(), item->index, item->number});
  }
}

std::vector<ViewNews> ViewKeeper::take_news(std::size_t thread) {
  return thread < news_.size() ? std::exchange(news_[thread], {}) : std::vector<ViewNews>();
}

void ViewKeeper::remove(Item& item) {
  if (item.view == nullptr) return;
  KeptView& kept = *item.view;
  withdraw(kept);
  item.view = nullptr;
  forget_building(&kept, nullptr);
  std::erase(waiting_, &kept);
  for (auto& news : news_) {
    std::erase_if(news, [&](const ViewNews& one) { return one.view == kept.view.get(); });
  }
  retire(std::move(kept.view), kept.ids.release(), kept.users.release());
  const std::size_t position = kept.position;
  std::swap(kept_[position], kept_.back());
  kept_[position]->position = position;
  kept_.pop_back();
}

void ViewKeeper::left(Sale& sale) {
  if (sale.users_filter != nullptr) sale.users_filter->look_again();
}

void ViewKeeper::remove(Sale& sale) {
  if (sale.users_filter == nullptr) return;
  forget_building(nullptr, &sale);
  retire(nullptr, nullptr, sale.users_filter->release());
  std::erase_if(sale_filters_, [&](const auto& filter) { return filter.get() == sale.users_filter; });
  sale.users_filter = nullptr;
}

void ViewKeeper::forget_building(const KeptView* kept, const Sale* sale) {
  std::erase_if(building_, [&](const Building& building) { return building.kept == kept && building.sale == sale; });
}

/// Kept until nobody can be reading it. Whatever was never published to a thread nobody knows.
void ViewKeeper::retire(std::unique_ptr<ItemView> view, std::unique_ptr<ViewFilter> ids,
                        std::unique_ptr<ViewFilter> users) {
  if (!told_ || (view == nullptr && ids == nullptr && users == nullptr)) return;
  last_ticket_ = last_ticket_.next();
  to_forget_.push_back({last_ticket_, view.get()});
  retired_.push_back({last_ticket_, std::move(view), std::move(ids), std::move(users)});
  retired_bytes_ += retired_.back().bytes();
}

std::vector<RetiredView> ViewKeeper::take_retired() { return std::exchange(to_forget_, {}); }

void ViewKeeper::reclaim(RetireTicket ticket) {
  const auto found =
      std::find_if(retired_.begin(), retired_.end(), [&](const Retired& one) { return one.ticket == ticket; });
  CHECK(found != retired_.end());
  retired_bytes_ -= found->bytes();
  retired_.erase(found);
}

}  // namespace holdfast
