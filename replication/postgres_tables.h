// The SQL of the postgres sink: each call is one statement over whole columns of rows. Decides nothing. Blocking; one
// thread. All calls belong to the connection's open transaction; errors are those of PostgresConnection.
#pragma once

#include "replication/event_sink.h"
#include "replication/known_items.h"
#include "replication/postgres_connection.h"

#include <map>

namespace holdfast {

/// The sink's row of holdfast_cursor.
struct CursorRow {
  bool there = false;
  Cursor cursor;
  std::string owner;     // UUID of the process that wrote last
  bool parking = false;  // something is parked
  bool marked = false;   // log and LSN are as a relay wrote them
};

/// Which item of a statement's rows were not all written as they should.
struct WriteResult {
  std::vector<ItemNumber> unfit;  // their counts do not match
  std::string refused;            // a constraint refused the whole statement: what it said
  bool fits() const noexcept { return unfit.empty() && refused.empty(); }
};

/// What a LOAD does to the row of flash_sale_item.
enum class RowOfLoad : std::uint8_t {
  add,
  adopt,         // a person's: keeps quantity and sold as they are
  restart,       // one that was put aside (postgres_start.h)
  next_version,  // the totals of the version before go to the history
};

/// How the row of flash_sale_item stands before a LOAD.
struct ItemRow {
  bool there = false;
  bool ours = false;
  ItemVersion version;  // of ours; none: the row was put aside
  std::int64_t sold = 0;
  std::int64_t quantity = 0;
};

/// By the item's name, as the tables have it, and version.
using KeptRows = std::map<std::pair<std::string, ItemVersion>, KeptRow>;

class PostgresTables {
 public:
  PostgresTables(PostgresConnection& connection, OutsideIds ids, std::string sink)
      : connection_(connection), ids_(ids), sink_(std::move(sink)) {}

  OutsideIds ids() const noexcept { return ids_; }

  // The cursor.
  /// Locks it until the transaction ends.
  Result<CursorRow> lock_cursor();
  /// Unless the tables are another sink's.
  Result<void> make_cursor(const std::string& owner);
  /// The sink that has them; empty: none.
  Result<std::string> sink_of_tables();
  Result<void> take_over(Epoch epoch, const std::string& owner);
  /// Whatever it was; in the audit table, too.
  Result<void> put_cursor(const Cursor& cursor, const std::string& owner);
  /// Whether it was still as `from` says.
  Result<bool> move_cursor(const Cursor& from, const LogId& log, Lsn to);

  // Items.
  Result<bool> knows_any_item();
  Result<std::vector<KnownItem>> live_items();
  /// Live or not.
  Result<std::optional<KnownItem>> known_item(ItemNumber number);
  /// The name that owns an outside id; empty for none.
  Result<std::string> owner_of(const std::string& item_id);
  /// Nothing of the older versions of this name can change any more; their numbers.
  Result<std::vector<ItemNumber>> end_versions(const std::string& name);
  /// With what its row says is sold already. False when the number or the version is known already.
  Result<bool> add_known(const KnownItem& item);
  Result<void> save_known(std::span<const KnownItem* const> items);
  /// Which of those have no row in their place any more, or one of an older version of theirs, or, with `existing_items`,
  /// one that may be taken over; the first kClaimsAtOnce of them, each with the time by the database's clock.
  Result<std::vector<std::pair<ItemNumber, WallTime>>> free_places(std::span<const KnownItem* const> items,
                                                                   bool existing_items);
  /// An item that was refused has a row now. REQUIRES: its row is written.
  Result<void> claim(const KnownItem& item);
  Result<ItemRow> lock_item(const std::string& item_id);
  /// What the database says against the row, after which only a savepoint helps; empty: it is there.
  Result<std::string> load_item(RowOfLoad how, const KnownItem& item, const Event& load);

  // Rows of a fold. `known`: of all its items.
  Result<WriteResult> update_orders(std::span<const OrderChange> changes, const KnownItems& known);
  Result<WriteResult> insert_orders(std::span<const OrderChange> changes, const KnownItems& known);
  /// State and definition of those that are described, and their sequence; rows that are gone are passed over.
  Result<WriteResult> describe_items(std::span<const ItemSum> items, const KnownItems& known);
  Result<WriteResult> sum_items(std::span<const ItemSum> items, const KnownItems& known);

  // The journal.
  /// How many rows are new.
  Result<std::uint64_t> write_journal(std::span<const Event> events);
  /// "item version sequence" of the first row that is there and says something else; empty when there is none.
  Result<std::string> differing_journal(std::span<const Event> events);

 private:
  Result<SqlAnswer> run(const SqlStatement& statement, const std::vector<std::string>& parameters);
  Result<SqlAnswer> try_run(const SqlStatement& statement, const std::vector<std::string>& parameters);
  std::vector<std::string> journal_columns(std::span<const Event> events) const;

  PostgresConnection& connection_;
  OutsideIds ids_;
  std::string sink_;
};

}  // namespace holdfast
