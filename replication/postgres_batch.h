// One batch of events in the open transaction of a postgres sink: everything but the cursor. Blocking; one thread; used
// once. After an error the transaction must not be committed.
#pragma once

#include "replication/by_halves.h"
#include "replication/postgres_chains.h"
#include "replication/room_plan.h"
#include "replication/start_state.h"

namespace holdfast {

class PostgresBatch {
 public:
  /// `known` is what holdfast_item says, and is kept up to date. `parking`: something is parked already.
  PostgresBatch(PostgresConnection& connection, PostgresTables& tables, KnownItems& known, bool parking,
                bool existing_items)
      : connection_(connection),
        tables_(tables),
        known_(known),
        existing_items_(existing_items),
        fold_(connection, tables),
        chains_(connection, fold_, known, parking) {}
  PostgresBatch(const PostgresBatch&) = delete;
  PostgresBatch& operator=(const PostgresBatch&) = delete;

  /// Errors: `damaged` when journal or sequences show that tables and cursor are not of one time; those of
  /// PostgresConnection.
  Result<void> apply(std::span<const Event> events);

  // What the tables begin with, instead of events, when they are empty; `at`: when that was. Errors as apply().
  /// What is left of rows that were put aside.
  void keep(KeptRows kept) { kept_ = std::move(kept); }
  Result<void> begin_item(const StartItem& item, WallTime at);
  /// REQUIRES: the item was begun.
  Result<void> begin_orders(const StartItem& item, std::span<const OrderChange> orders, WallTime at);

  /// Gives an item its row that had none since something kept it out; whether it has it now. REQUIRES: one of
  /// KnownItems::without_place().
  Result<bool> claim(ItemNumber number, WallTime at);

  SinkFigures figures() const noexcept { return {chains_.parked(), chains_.resolved(), singly_, 0}; }
  /// Items of which something was parked, each with the first of it in words.
  const std::map<ItemNumber, std::string>& alarms() const noexcept { return chains_.alarms(); }

 private:
  using Steps = std::vector<EventStep>;

  Result<void> write_journal(std::span<const Event> events);
  Result<void> apply_piece(std::span<const Event> events);

  // Items that are loaded.
  Result<void> load(const Event& event, Sequence begins);
  Result<void> write_loaded(KnownItem& item, const Event& event);
  Result<Trial> describe(const KnownItem& item, WallTime at);
  Result<bool> try_claim(KnownItem item, WallTime at);
  Result<std::optional<RowOfLoad>> row_of_load(const KnownItem& item, bool is_new);

  // What the tables begin with.
  Result<Attempt> begin_rows(const StartItem& item, std::span<const OrderChange> orders, WallTime at);
  void begin_parked(const OrderChange& order, Refusal refusal, WallTime at);

  // What can never be written.
  std::optional<Refusal> never_fits(const Event& event) const;

  // Items of which all fits, in one go; what does not, an item at a time.
  Result<void> write_items(const Steps& steps, std::set<ItemNumber> slow);
  Result<Attempt> write_together(std::span<const Steps> items, std::set<ItemNumber>& slow);
  Result<void> write_slowly(const Steps& steps);
  Result<Attempt> write_planned(std::span<const EventStep> steps);
  Result<Attempt> carry_out(std::span<const EventStep> steps, std::span<const PlannedStep> plan,
                            const std::optional<Refusal>& no_row);
  Result<void> save_items();

  PostgresConnection& connection_;
  PostgresTables& tables_;
  KnownItems& known_;
  bool existing_items_;
  KeptRows kept_;
  PostgresFold fold_;
  PostgresChains chains_;
  std::uint64_t singly_ = 0;
};

}  // namespace holdfast
