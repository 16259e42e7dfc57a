// The owner's side of item views: withdraws a view before its item changes, publishes it when what it says is durable,
// keeps the filters, knows which thread was told of which view, and frees what no thread can be reading. Part of the
// inventory and as deterministic: no clock, no thread. The protocol and why it is right: server/views.md.
#pragma once

#include "server/item.h"
#include "server/kept_filter.h"

#include <deque>

namespace holdfast {

struct ItemView;

/// The view of an item that a thread is to know.
struct ViewNews {
  std::string item;  // without braces
  const ItemView* view = nullptr;
  std::uint32_t item_index = 0;
  ItemNumber number;
};

using RetireTicket = Strong<struct RetireTicketTag, std::uint64_t>;

/// Memory that is freed when every thread has said that it has forgotten it, and is in the middle of no look.
struct RetiredView {
  RetireTicket ticket;
  const ItemView* view = nullptr;  // to be forgotten; none: only a filter goes, of which threads keep nothing
};

/// What the keeper has of an item that has refused. Its own.
struct KeptView;

class ViewKeeper {
 public:
  /// `on`: whether anything is published at all.
  ViewKeeper(bool on, const LogSecret& secret);
  ~ViewKeeper();
  ViewKeeper(const ViewKeeper&) = delete;
  ViewKeeper& operator=(const ViewKeeper&) = delete;

  const ViewHashes& hashes() const noexcept { return hashes_; }

  // The inventory tells what happens.

  /// Before the item, or what is remembered of it, changes.
  void before_change(Item& item) {
    if (item.view != nullptr) withdraw(*item.view);
  }
  /// A reservation was made or taken up again, in the step that did it.
  void became_live(const Item& item, const UserId& user, const ReservationId& id) {
    if (item.view != nullptr || (item.sale != nullptr && item.sale->users_filter != nullptr)) add(item, user, id);
  }
  /// The item goes.
  void remove(Item& item);
  /// An item left the sale; the sale goes.
  void left(Sale& sale);
  void remove(Sale& sale);
  /// The owner refused a RESERVE because of the item's state or stock.
  void refused(Item& item, const Now& now);
  void on_durable(GroupOrdinal group) noexcept { durable_ = group; }

  // The shard drives it.

  /// Withdraws all views when the clocks have moved against each other, on which the ends of views rest.
  void see(const Now& now);
  /// Publishes what has become durable.
  void publish(const Now& now);
  /// Builds filters, kFilterRowsPerTurn rows at a time; true while there is more to do.
  bool work(const Now& now);
  bool has_work() const noexcept { return !building_.empty(); }
  /// Withdraws all views, for good.
  void end();

  /// A thread was answered a refusal of this item, or none, by the owner: it is told of the view if one is published.
  void tell(const Item* item, std::size_t thread);
  /// What a thread is to be told since the last call, oldest first. It must come to the thread before anything that
  /// take_retired gives later.
  std::vector<ViewNews> take_news(std::size_t thread);
  /// What every thread is to forget since the last call.
  std::vector<RetiredView> take_retired();
  /// Every thread has answered.
  void reclaim(RetireTicket ticket);

  /// Whether the item's view says something now.
  static bool is_published(const Item& item) noexcept;
  static const ItemView* view_of(const Item& item) noexcept;
  /// Memory of views and filters, also of those that wait to be freed.
  std::size_t bytes() const noexcept;

 private:
  struct Retired;
  /// A filter whose successor is built: of an item, or of a sale.
  struct Building {
    KeptFilter* filter = nullptr;
    KeptView* kept = nullptr;
    Sale* sale = nullptr;
  };

  void begin(Item& item);
  void withdraw(KeptView& kept);
  void await(KeptView& kept);
  void add(const Item& item, const UserId& user, const ReservationId& id);
  void start(KeptFilter& filter, KeptView* kept, Sale* sale);
  void finish(const Building& built);
  bool try_publish(KeptView& kept, const Now& now);
  bool filters_ready(KeptView& kept);
  KeptFilter* users_of(KeptView& kept);
  void retire(std::unique_ptr<ItemView> view, std::unique_ptr<ViewFilter> ids, std::unique_ptr<ViewFilter> users);
  void forget_building(const KeptView* kept, const Sale* sale);

  bool on_;
  bool told_ = false;  // whether any thread was ever told of any view
  ViewHashes hashes_;
  GroupOrdinal durable_;
  std::optional<Millis> wall_minus_hold_;
  std::vector<std::unique_ptr<KeptView>> kept_;
  std::vector<KeptView*> waiting_;  // to be published when durable
  std::deque<Building> building_;   // oldest first
  std::vector<std::unique_ptr<KeptFilter>> sale_filters_;
  std::vector<std::vector<ViewNews>> news_;  // by thread
  std::vector<RetiredView> to_forget_;
  std::vector<Retired> retired_;
  RetireTicket last_ticket_;
  std::size_t filter_bytes_ = 0;
  std::size_t retired_bytes_ = 0;
};

}  // namespace holdfast
