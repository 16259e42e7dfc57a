// One batch of events in the open transaction of a postgres sink: everything but the cursor. Blocking; one thread; used
// once. After an error the transaction must not be committed.
#pragma once

#include "replication/parked_chain.h"
#include "replication/postgres_parked.h"
#include "replication/postgres_tables.h"
#include "replication/start_state.h"

#include <map>
#include <set>

namespace holdfast {

class PostgresBatch {
 public:
  /// `known` is what holdfast_item says, and is kept up to date. `parking`: something is parked already.
  PostgresBatch(PostgresConnection& connection, PostgresTables& tables, KnownItems& known, bool parking,
                bool existing_items)
      : connection_(connection), tables_(tables), known_(known), parking_(parking), existing_items_(existing_items) {}

  /// Errors: `damaged` when journal or sequences show that tables and cursor are not of one time; those of
  /// PostgresConnection.
  Result<void> apply(std::span<const Event> events);

  // What the tables begin with, instead of events, when they are empty; `at`: when that was. Errors as apply().
  /// What is left of rows that were put aside.
  void keep(KeptRows kept) { kept_ = std::move(kept); }
  Result<void> begin_item(const StartItem& item, WallTime at);
  /// REQUIRES: the item was begun.
  Result<void> begin_orders(const StartItem& item, std::span<const OrderChange> orders, WallTime at);

  /// Gives an item its row that had none since another one was in its place; whether it has it now. REQUIRES: one of
  /// KnownItems::without_place().
  Result<bool> claim(ItemNumber number, WallTime at);

  const SinkFigures& figures() const noexcept { return figures_; }
  /// Items of which something was parked, each with the first of it in words.
  const std::map<ItemNumber, std::string>& alarms() const noexcept { return alarms_; }

 private:
  using Steps = std::vector<EventStep>;
  /// Why something was not written.
  struct Refusal {
    ParkReason reason{};
    std::string detail;
  };
  /// What came of trying a fold.
  struct Trial {
    std::set<ItemNumber> unfit;  // items whose rows did not match; nothing was written then
    Refusal refusal;             // of the first of them
    bool fits() const noexcept { return unfit.empty(); }
  };

  Result<void> write_journal(std::span<const Event> events);
  Result<void> apply_piece(std::span<const Event> events);

  // Items that are loaded.
  Result<void> load(const Event& event, Sequence begins);
  Result<void> write_loaded(KnownItem& item, const Event& event);

  // What the tables begin with.
  Result<void> begin_rows(OrderFold fold, ItemSum sum, WallTime at);
  void begin_parked(const OrderChange& order, Refusal refusal, WallTime at);

  // What can never be written.
  std::optional<Refusal> never_fits(const Event& event) const;

  // Folds in one go, what does not fit event by event.
  Result<void> write_together(const Steps& steps, std::set<ItemNumber> slow);
  Result<void> write_singly(const EventStep& step);
  Result<Trial> try_fold(const OrderFold& fold);
  Result<Trial> write_fold(const OrderFold& fold);
  Trial judge(const WriteResult& written, const OrderFold& fold, ParkReason reason, std::string_view detail) const;
  Result<Refusal> why_no_sum(const ItemSum& sum);

  // Chains.
  Result<void> load_open_chains(std::span<const EventStep> steps);
  ParkedChain* open_chain(const Event& event);
  Result<void> park(const EventStep& step, Refusal refusal);
  Result<void> follow(ParkedChain& chain, const EventStep& step);
  Result<void> settle(ParkedChain& chain);
  Result<void> save_parked();
  Result<void> save_items();

  PostgresConnection& connection_;
  PostgresTables& tables_;
  KnownItems& known_;
  bool parking_;
  bool existing_items_;
  KeptRows kept_;
  void note_parked(const ParkedChain& chain);
  SinkFigures figures_;
  std::map<ItemNumber, std::string> alarms_;
  std::map<ChainName, ParkedChain> chains_;  // that were parked before this batch or in it, and are not saved yet
};

}  // namespace holdfast
