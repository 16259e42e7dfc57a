// Reads for a reconcile what the tables say, all as of one moment. Blocking; one thread.
#pragma once

#include "replication/cursor.h"
#include "replication/observation_spill.h"
#include "replication/postgres_connection.h"
#include "replication/reconcile.h"

#include <functional>

namespace holdfast {

class ReconcileTables {
 public:
  /// Errors: bad_option when no relay has had the tables yet; those of PostgresConnection and check_version.
  static Result<std::unique_ptr<ReconcileTables>> open(const std::string& url);

  OutsideIds ids() const noexcept { return ids_; }
  const std::string& sink() const noexcept { return sink_; }
  const Cursor& cursor() const noexcept { return cursor_; }
  /// Its row is as a relay, or holdfastctl, wrote it.
  bool cursor_marked() const noexcept { return cursor_marked_; }
  ReconcileItems& items() noexcept { return items_; }
  const ReconcileChains& chains() const noexcept { return chains_; }
  std::uint64_t orders() const noexcept { return orders_; }
  std::uint64_t journal_rows() const noexcept { return journal_rows_; }
  std::uint64_t parked() const noexcept { return parked_; }
  PostgresConnection& connection() noexcept { return *connection_; }

  /// No other reconcile may write from now on; false: another one does.
  Result<bool> lock_out_others();

  /// Rows read so far.
  using Progress = std::function<void(std::string_view table, std::uint64_t rows)>;
  /// All of it: items and what is parked into memory, orders and journal into the spill, rows of unknown items and
  /// duplicates to the differences.
  Result<void> read(ObservationSpill& spill, Differences& out, const Progress& progress);

 private:
  explicit ReconcileTables(std::unique_ptr<PostgresConnection> connection) : connection_(std::move(connection)) {}
  Result<void> look();
  Result<void> read_items(Differences& out);
  Result<void> read_parked();
  Result<void> read_orders(ObservationSpill& spill, Differences& out, const Progress& progress);
  Result<void> read_journal(ObservationSpill& spill, Differences& out, const Progress& progress);
  Result<void> read_duplicates(Differences& out);
  using OnRow = std::function<Result<void>(const SqlRow& row)>;
  Result<void> stream(const std::string& name, const std::string& select, const OnRow& on_row);

  std::unique_ptr<PostgresConnection> connection_;
  OutsideIds ids_{};
  std::string sink_;
  Cursor cursor_;
  bool cursor_marked_ = false;
  ReconcileItems items_;
  ReconcileChains chains_;
  std::uint64_t orders_ = 0;
  std::uint64_t journal_rows_ = 0;
  std::uint64_t parked_ = 0;
};

}  // namespace holdfast
