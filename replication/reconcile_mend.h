// Writes into the tables what reconcile found to be missing or wrong in them, in transactions for which the relay waits. Each
// row is written only when it is still as it was found and nothing has happened to its reservation since; each is noted in
// holdfast_audit. Blocking; one thread.
#pragma once

#include "replication/postgres_audit.h"
#include "replication/postgres_tables.h"
#include "replication/reconcile.h"

#include <map>

namespace holdfast {

class ReconcileMender {
 public:
  ReconcileMender(PostgresConnection& connection, OutsideIds ids, std::string sink, const ReconcileItems& items)
      : connection_(connection), ids_(ids), sink_(std::move(sink)), items_(items) {}

  /// Which changes of the log it needs for these differences. REQUIRES: called before wants().
  void prepare(std::span<const Difference> differences);
  bool needs_log() const noexcept { return !rows_.empty() || !lives_.empty(); }
  /// Takes a change of the log, if it needs it. In the log's order.
  void offer(const Event& event);

  /// Mends what it can of those; how many of each kind. Errors: those of PostgresConnection; what was committed before
  /// stays.
  using Counts = std::array<std::uint64_t, kDifferenceKinds>;
  Result<Counts> mend(std::span<const Difference> differences);

  /// A difference that stays for a person, since the database refused the row that would mend it.
  struct Refused {
    const Difference* difference;
    std::string words;  // the database's
  };
  const std::vector<Refused>& refused() const noexcept { return refused_; }

 private:
  using Batch = std::span<const Difference* const>;
  Result<std::uint64_t> mend_batch(DifferenceKind kind, Batch batch);
  Result<std::uint64_t> mend_cursor(const Difference& difference);
  Result<std::uint64_t> mend_journal(Batch batch);
  Result<std::uint64_t> mend_rows(Batch batch);
  Result<SqlAnswer> try_rows(Batch batch);
  Result<SqlAnswer> write_rows(Batch batch);
  Result<SqlAnswer> insert_orders(Batch batch);
  Result<SqlAnswer> update_orders(Batch batch);
  Result<SqlAnswer> update_terms(Batch batch);
  Result<SqlAnswer> update_sold(Batch batch);
  Result<SqlAnswer> run(const SqlStatement& statement, const std::vector<std::string>& parameters);
  Result<SqlAnswer> try_run(const SqlStatement& statement, const std::vector<std::string>& parameters);
  /// Notes the rows of an answer: item, version, key, before, after.
  Result<std::uint64_t> note(const SqlAnswer& changed, DifferenceKind kind);

  PostgresConnection& connection_;
  OutsideIds ids_;
  std::string sink_;
  const ReconcileItems& items_;
  std::vector<Refused> refused_;
  /// A row of the journal.
  struct Row {
    std::optional<Event> change;  // nothing: the log does not have it
    bool written = false;
  };
  std::map<std::pair<ItemNumber, Sequence>, Row> rows_;
  boost::unordered_flat_map<ReconcileKey, Sequence, ReconcileKeyHash> lives_;  // up to where a row's RESERVE may be
  boost::unordered_flat_map<ReconcileKey, Event, ReconcileKeyHash> begun_;     // those RESERVEs
};

}  // namespace holdfast
