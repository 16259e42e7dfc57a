// The items of one shard: what may be sold, who has it, until when. All of Holdfast's decisions are made here.
//
// Deterministic and without I/O: requests, records and `Now` come in; outcomes and records go out. The same code runs
// in the server, in recovery, in the fold of snapshots and in the simulator. One thread at a time.
//
// A request is decided, then made into one record, which is given to the sink and applied; recovery applies the same
// record by the same functions. Reading order: this file, inventory_reserve.cc, inventory_verbs.cc, inventory_load.cc,
// inventory_items.cc, inventory_stock.cc (the Redis view), inventory_time.cc, inventory_apply.cc, inventory.cc.
#pragma once

#include "server/id_maker.h"
#include "server/item.h"
#include "server/outcomes.h"
#include "server/requests.h"
#include "server/shard_place.h"
#include "server/sink_board.h"
#include "server/view_keeper.h"

#include <boost/unordered/unordered_flat_map.hpp>

namespace holdfast {

/// What RESERVE came to. `slot` is the reservation made or found by its id, or, at limit_reached and if DETAILS are
/// asked for, the user's newest live one; `owner` is the item whose slot it is (maybe another item of the sale then).
struct ReserveAnswer {
  ReserveAnswer(ReserveOutcome how, const Item* whose) : outcome(how), owner(whose) {}
  ReserveAnswer(ReserveOutcome how, const Item* whose, RowSlot where) : outcome(how), owner(whose), slot(where) {}

  ReserveOutcome outcome{};
  const Item* owner = nullptr;
  std::optional<RowSlot> slot{};
};

struct VerbAnswer {
  VerbOutcome outcome{};
  std::optional<RowSlot> slot{};  // when done
};

/// Counters recounted from the rows.
struct Verification {
  const Item* item = nullptr;
  bool ok = false;
  Counters counted;  // reserved and confirmed from the rows, the others as they are
  std::uint64_t rows = 0;
};

/// Bytes in use, by what for.
struct InventoryMemory {
  std::size_t rows = 0;
  std::size_t indexes = 0;
  std::size_t names = 0;
  std::size_t others = 0;

  InventoryMemory& operator+=(const InventoryMemory& other) noexcept {
    rows += other.rows;
    indexes += other.indexes;
    names += other.names;
    others += other.others;
    return *this;
  }
};

class Inventory final : public RecordVisitor {
 public:
  struct Settings {
    /// The log's secret: seeds the tables' hashes and makes server-made ids that nobody can guess.
    LogSecret secret{};
    Millis ended_retention{std::chrono::hours(24)};
    /// Ended ids kept per item; nothing: 4 x total, at least 100,000.
    std::optional<std::uint64_t> ended_max{};
    /// Whether INCRBY and DECRBY are allowed while there are reservations.
    bool redis_view_adjusts = false;
    /// Whether refusals are published, so that other threads can answer them.
    bool views = true;
    /// The shard that this is the inventory of.
    ShardPlace place{};
  };

  /// Changes that one sweep, or the expiry within one command, makes at most.
  static constexpr int kDueMax = 2000;
  /// Blocks of rows that they look at at most: a change leaves one behind that is looked at again, and so do
  /// reservations that did not wait for their deadline.
  static constexpr int kLooksMax = 2 * kDueMax;
  /// Items that are gone whose memory one sweep gives back at most.
  static constexpr int kRetiredMax = 64;
  /// Sequence numbers of a version that only the ends of what is live, and the item's states, may use: two for each row.
  static constexpr std::uint64_t kSequencesKept = std::uint64_t{1} << 32;
  /// Ids that one FORGET record forgets at most.
  static constexpr std::uint32_t kForgetMax = 1024;

  /// `sink` takes every record that a step makes, and outlives this.
  Inventory(const Settings& settings, RecordSink& sink);
  ~Inventory() override;
  Inventory(const Inventory&) = delete;
  Inventory& operator=(const Inventory&) = delete;

  // Groups and durability (what the gate rests on).

  /// Records made from here on belong to this group. REQUIRES: greater than the last.
  void open_group(GroupOrdinal group);
  /// The state hash after all records made so far; costs one hash per item touched since the last call.
  StateHash seal();
  /// From here on seal() notes which items stopped or started selling since the last one.
  void set_noticing(bool on) noexcept { noticing_ = on; }
  /// What was noted; one notice for an item, however often it changed in a group.
  std::vector<ItemNotice> take_notices() { return std::exchange(notices_, {}); }
  /// The group is durable and its first record has this LSN. REQUIRES: groups in order, also those without changes.
  void on_group_durable(GroupOrdinal group, Lsn first);
  /// The group on which a reply about this item rests; none when it is durable.
  GroupOrdinal rests_on(const Item& item) const noexcept { return not_durable(item.changed); }
  /// The same for a RESERVE, whose answer rests on all items of a SCOPE-sale item's sale.
  GroupOrdinal reserve_rests_on(const Item& item) const noexcept {
    return not_durable(item.sale != nullptr ? item.sale->changed : item.changed);
  }
  /// The same for a reply about what items there are.
  GroupOrdinal all_rest_on() const noexcept { return not_durable(changed_); }
  bool is_durable(const Row& row) const noexcept { return row.pending_group() <= durable_; }

  /// The views of the items, by which other threads refuse without asking.
  ViewKeeper& views() noexcept { return views_; }
  const ViewKeeper& views() const noexcept { return views_; }

  /// While a reason is given, RESERVE takes no new reservation and answers -OVERLOADED with it; ids that are known and
  /// refusals are answered as always. Empty: none.
  void set_overloaded(std::string_view reason) { overloaded_ = reason; }
  /// The same with -FENCED: this log is not the one that its sinks know.
  void set_log_fenced(std::string_view reason) { log_fenced_ = reason; }
  /// What is known of the sinks; never nothing.
  void set_sinks(std::shared_ptr<const SinkBoard> sinks) { sinks_ = std::move(sinks); }
  const SinkBoard& sinks() const noexcept { return *sinks_; }

  // Items are looked up first; what is due by their windows happens on the way.

  Item* find(ItemName name, const Now& now);
  /// The same without anything happening, and uncounted.
  const Item* peek(ItemName name) const noexcept {
    const auto found = by_name_.find(name.bytes());
    return found == by_name_.end() ? nullptr : found->second->item;
  }
  /// Expires all that is due of the item, and of its sale, so that no command at this `now` finds anything due; an error
  /// when that is more than one command may do.
  Result<void> expire_all(Item& item, const Now& now);
  /// The error for a name that `find` does not know.
  static Error no_item(ItemName name);

  // Reservations (design 3). A fenced item is an error, and so is more expiry than one command may do.

  Result<ReserveAnswer> reserve(Item& item, const ReserveRequest& request, const Now& now);
  Result<VerbAnswer> confirm(Item& item, const VerbRequest& request, const Now& now);
  Result<VerbAnswer> release(Item& item, const VerbRequest& request, const Now& now);
  Result<VerbAnswer> refund(Item& item, const VerbRequest& request, const Now& now);
  Result<VerbAnswer> extend(Item& item, const VerbRequest& request, const Now& now);
  /// The reservation with this id, exact at `now` (it expires on the way if it is due).
  Result<std::optional<RowSlot>> look_up(Item& item, const ReservationId& id, const Now& now);
  /// The one the short forms act on: his one RESERVED, else his newest CONFIRMED.
  Result<std::optional<RowSlot>> look_up(Item& item, const UserId& user, const Now& now);

  // Items.

  /// LOAD, or CREATE, which also goes through READY and, unless opens-at is ahead, OPEN.
  Result<void> load(const LoadRequest& request, const Now& now);
  /// READY, OPEN, PAUSE or CLOSE.
  Result<void> move(Item& item, ItemEvent step, const Now& now);
  Result<void> drop(Item& item, bool confirmed_too, const Now& now);
  Result<void> adjust(Item& item, const AdjustRequest& request, const Now& now);
  Result<void> set_field(Item& item, const ItemSetRequest& request, const Now& now);
  Result<void> set_returns(Item& item, bool held, const Now& now);
  /// All items, and what new ones inherit.
  Result<void> set_all_returns(bool held, const Now& now);
  Result<void> unfence(Item& item, Sequence expected, const Now& now);
  Verification verify(const Item& item) const;
  /// Items in the order of ITEM LIST; a position is stable for a name. Nothing at a tombstone.
  std::size_t positions_end() const noexcept { return named_.size(); }
  Item* at_position(std::size_t position, const Now& now);
  const NamedItem& name_at(std::size_t position) const noexcept { return *named_[position]; }
  std::size_t item_count() const noexcept { return items_.size() - free_indexes_.size(); }

  // The Redis view of {item}:stock.

  enum class StockOutcome : std::uint8_t { written, not_written };
  /// SET; not_written when NX or XX forbid it.
  Result<StockOutcome> set_stock(const StockWrite& write, const Now& now);
  /// INCRBY, DECRBY.
  Result<void> add_stock(Item& item, std::int64_t delta, const Now& now);
  /// Whether DEL may drop it now: -ERR while anything is reserved or confirmed.
  Result<void> may_delete(Item& item, const Now& now);

  // Time.

  /// Opens and closes items by their windows, expires due reservations and forgets ended ids: at most kDueMax changes.
  /// Returns whether more is due now.
  bool sweep(const Now& now);
  /// When the next of these is due on the hold clock, or earlier; HoldTime::max() when nothing is. `now` tells how the
  /// two clocks stand to each other.
  HoldTime next_due(const Now& now) const;

  // Recovery: driven by the log's reader. An error names what does not fit.

  Result<void> on_item(const RecordStamp& stamp, const ItemRecord& record) override;
  Result<void> on_reservation(const RecordStamp& stamp, const ReservationRecord& record) override;
  Result<void> on_forget(const RecordStamp& stamp, const ForgetRecord& record) override;
  Result<void> on_default_returns(const RecordStamp& stamp, const DefaultReturnsRecord& record) override;

  /// The highest item number ever given here, or replayed.
  ItemNumber item_number_max() const noexcept { return item_number_max_; }
  /// New items of shard i of n get the numbers next + i, next + i + n, ... Called after recovery, with the same number at
  /// all shards. REQUIRES: above all numbers that were ever given at any of them.
  void number_from(ItemNumber next);
  const ShardPlace& place() const noexcept { return settings_.place; }
  /// The number of the item of this name, none when there is none; a look-up that is not counted and changes nothing.
  ItemNumber number_of(ItemName name) const noexcept;
  bool returns_held_by_default() const noexcept { return returns_held_; }
  /// Items that commands asked for by name: how many there were, and how many not.
  struct Lookups {
    std::uint64_t found = 0;
    std::uint64_t missed = 0;
  };
  const Lookups& lookups() const noexcept { return lookups_; }
  std::uint64_t fenced_count() const noexcept { return fenced_count_; }
  InventoryMemory memory() const;
  /// Its parts: of the items whose index is first..end-1, and of what all share.
  InventoryMemory items_memory(std::size_t first, std::size_t end) const;
  InventoryMemory shared_memory() const;
  /// The item in a place, nothing when that is free.
  const Item* item_at(std::size_t index) const noexcept {
    return index < items_.size() ? items_[index].get() : nullptr;
  }
  std::size_t indexes_end() const noexcept { return items_.size(); }

 private:
  friend class InventoryRestore;
  friend class InventoryAccess;  // of the tests: breaks a counter to see it fenced

  struct PendingRow {
    std::uint32_t item_index;
    ItemNumber item;
    RowSlot slot;
    RecordPosition position;
  };
  struct PendingGroup {
    GroupOrdinal group;
    std::vector<PendingRow> rows;
  };

  GroupOrdinal not_durable(GroupOrdinal group) const noexcept { return group > durable_ ? group : GroupOrdinal(); }
  static Error fenced(const Item& item);
  /// Whether changes that only add to the work of ending are still taken.
  static Result<void> may_go_on(const Item& item);

  // Making changes: decide -> record -> sink -> apply.
  RecordStamp stamp_next(const Item& item, const Now& now) const;
  Counters after(const Item& item, ReservationEvent event, std::int64_t quantity, bool write_off) const noexcept;
  // Gives the record its counters. On this way nothing is copied right after its parts were written: such a copy waits until
  // all that the thread wrote before has reached the cache.
  Result<RowSlot> change(Item& item, const std::optional<RowSlot>& slot, ReservationRecord& record, const Now& now);
  Result<void> change(Item& item, ItemRecord record, const Now& now);
  ReservationRecord record_of(const Item& item, RowSlot slot, ReservationEvent event) const;
  ItemRecord record_of(const Item& item, ItemEvent event) const;
  Result<void> fence_if_broken(Item& item, const Counters& after, std::int64_t total_after, const Now& now);
  RowSlot apply(Item& item, const std::optional<RowSlot>& slot, const RecordStamp& stamp,
                const ReservationRecord& record);
  void apply(Item& item, const ItemRecord& record);
  Item& apply_load(const RecordStamp& stamp, const ItemRecord& record);
  NamedItem& make_name(std::string_view name);
  Item& make_item(NamedItem& named, ItemNumber number, HoldTime loaded);
  void take_over(Item& item, const ItemRecord& record);
  static constexpr ItemNumber kItemNumberMax{(std::uint64_t{1} << 63) - 1};
  static bool is_storable(const RecordStamp& stamp) noexcept;
  static bool is_valid(const ItemDefinition& definition) noexcept;
  static bool times_fit(const Item& item, std::optional<RowSlot> slot, const RecordStamp& stamp,
                        const ReservationRecord& record);
  Result<void> check_reservation(const Item& item, std::optional<RowSlot> slot, const RecordStamp& stamp,
                                 const ReservationRecord& record) const;
  Result<void> check_item(const Item& item, const RecordStamp& stamp, const ItemRecord& record) const;
  Result<void> check_load(const RecordStamp& stamp, const ItemRecord& record) const;
  void note_drop(const Item& item);
  void note_change(Item& item, Sequence sequence, GroupOrdinal group);
  void note_row(const Item& item, RowSlot slot, RecordPosition position);

  // Items and sales.
  Item* find_number(ItemNumber number) const;
  ItemNumber next_item_number() const noexcept;
  void remove_item(Item& item);
  void join_sale(Item& item);
  void leave_sale(Item& item);
  Result<void> load_version(const LoadRequest& request, ItemVersion version, const Now& now);
  Result<void> create_steps(Item& item, const Now& now);
  Result<void> write_stock(Item& item, std::int64_t stock, WallTime closes_at, const Now& now);
  Result<void> next_sale(Item& item, std::int64_t stock, WallTime closes_at, const Now& now);

  // Reservations.
  Result<VerbAnswer> act(Item& item, const VerbRequest& request, ReservationEvent event, const Now& now);
  Result<std::optional<RowSlot>> addressed(Item& item, const VerbRequest& request, const Now& now);
  Result<VerbAnswer> resume(Item& item, RowSlot slot, const VerbRequest& request, const Now& now);
  std::int64_t live_units(const Item& item, const UserId& user, const UserRows& rows) const;
  bool within_limit(const Item& item, const UserId& user, const UserRows& rows, std::int64_t quantity) const;
  Result<bool> limit_allows(Item& item, const UserId& user, std::int64_t quantity, const Now& now);
  Result<bool> has_available(Item& item, std::int64_t quantity, const Now& now);
  ReserveAnswer refuse(Item& item, ReserveOutcome outcome, const Now& now);
  ReserveAnswer newest_live(const Item& item, const UserId& user) const;
  Result<ReserveAnswer> known_id(const Item& item, RowSlot slot, const ReserveRequest& request) const;

  // Time.

  /// What one command or sweep may still do.
  struct Budget {
    int changes = kDueMax;
    int looks = kLooksMax;
    bool left() const noexcept { return changes > 0 && looks > 0; }
  };
  bool due(const Item& item, const Now& now) const noexcept { return item.rows->deadline_bound() <= now.hold; }
  /// Expires due rows, oldest deadline first, while `more()` and the budget last.
  template <class More>
  Result<void> expire_due(Item& item, const Now& now, Budget& budget, More more);
  /// Expires all that is due; an error when that is more than one command may do.
  Result<void> settle(Item& item, const Now& now);
  Result<void> expire_if_due(Item& item, RowSlot slot, const Now& now);
  Result<void> pass_windows(Item& item, const Now& now);
  void forget_ended(Item& item, const Now& now, std::uint64_t kept_max, int& changes);
  std::uint64_t ended_max(const Item& item) const noexcept;
  void schedule(Item& item);
  void schedule_window(const Item& item);
  void wake_at(const Item& item, HoldTime time);

  Settings settings_;
  RecordSink& sink_;
  IdMaker id_maker_;
  RowPools pools_;
  ViewKeeper views_;

  struct NameHash {
    using is_transparent = void;
    std::uint64_t seed = 0;
    std::size_t operator()(std::string_view name) const noexcept;
  };
  struct NameEqual {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const noexcept { return a == b; }
  };
  template <class Value>
  using ByName = boost::unordered_flat_map<std::string_view, Value, NameHash, NameEqual>;

  std::vector<std::unique_ptr<NamedItem>> named_;  // by position
  ByName<NamedItem*> by_name_;                     // keys view named_
  std::vector<std::unique_ptr<Item>> items_;       // by index
  std::vector<std::uint32_t> free_indexes_;
  boost::unordered_flat_map<std::uint64_t, Item*> by_number_;
  ByName<std::unique_ptr<Sale>> sales_;             // keys view the sales' tags
  std::vector<std::unique_ptr<ItemRows>> retired_;  // of items that are gone, given back step by step

  std::string overloaded_;
  std::string log_fenced_;
  std::shared_ptr<const SinkBoard> sinks_ = std::make_shared<const SinkBoard>();
  bool noticing_ = false;
  std::vector<ItemNotice> notices_;
  ItemNumber item_number_max_;
  ItemNumber first_number_;  // of those given here since recovery
  bool returns_held_ = false;
  std::uint64_t fenced_count_ = 0;
  Lookups lookups_;

  GroupOrdinal open_;
  GroupOrdinal durable_;
  GroupOrdinal changed_;               // the newest group with a change
  std::vector<PendingGroup> pending_;  // oldest first
  std::vector<PendingGroup> spare_;
  StateHash hash_;
  std::vector<std::uint32_t> touched_;

  MinimumTree due_;      // by item index: hold ms of the next deadline or forgetting, or earlier
  MinimumTree windows_;  // by item index: wall ms of the next opening or closing
};

}  // namespace holdfast
