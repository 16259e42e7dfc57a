#include "replication/reconcile_tables.h"

#include "protocol/outside_text.h"
#include "replication/event_json.h"
#include "replication/journal_row.h"
#include "replication/postgres_migrate.h"
#include "replication/postgres_statements.h"
#include "replication/sql_rows.h"

#include <fmt/format.h>

namespace holdfast {
namespace {

constexpr const char* kOneMoment =
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = '10min';"
    "SET LOCAL idle_in_transaction_session_timeout = '10min'";
// The one sink that the tables are of (holdfast_cursor_one).
const SqlStatement kCursor{"cursor", "SELECT sink, log_id::text, lsn, epoch, mark = " HOLDFAST_CURSOR_MARK(
                                         "log_id", "lsn") " FROM holdfast_cursor"};
const SqlStatement kLockOut{"lock_out", "SELECT pg_try_advisory_lock(hashtextextended('holdfast-reconcile', 0))"};
constexpr const char* kItems =
    "SELECT k.item, k.item_id::text, k.live, k.sequence, k.begins, k.facts::text, i.version, i.quantity, i.sold,"
    " k.sold_before, CASE WHEN k.refused <> 'bad_id' THEN concat_ws(': ', k.refused, k.refused_words) END"
    " FROM holdfast_item k LEFT JOIN flash_sale_item i ON i.item_id = k.item_id";
constexpr const char* kForeignItems =
    "SELECT i.item_id::text, i.version FROM flash_sale_item i WHERE i.version IS NOT NULL"
    " AND NOT EXISTS (SELECT FROM holdfast_item k WHERE k.item_id = i.item_id AND k.version = i.version)"
    // Version 0 was put aside, and is of an item that the server does not have.
    " AND (i.version <> 0 OR EXISTS (SELECT FROM holdfast_item k WHERE k.item_id = i.item_id))";
constexpr const char* kParked =
    "SELECT number, key, state, first_sequence, last_sequence FROM holdfast_parked ORDER BY number, key, "
    "first_sequence";
constexpr const char* kOrders =
    "SELECT k.number, o.order_id, o.user_id::text, o.quantity, o.status, o.sequence, o.lsn,"
    " CASE WHEN k.number IS NULL THEN o.item_id::text END, o.version, o.exclusive, o.price, o.currency, o.sale_id,"
    " (extract(epoch FROM o.reserved_at) * 1000)::bigint, (extract(epoch FROM o.expires_at) * 1000)::bigint"
    " FROM flash_sale_order o LEFT JOIN holdfast_item k ON k.item_id = o.item_id AND k.version = o.version";
constexpr const char* kJournal =
    "SELECT k.number, j.sequence, j.lsn, j.event, (extract(epoch FROM j.at) * 1000)::bigint, j.order_id, j.user_id,"
    " j.quantity, j.flags, j.available, j.reserved, j.confirmed, j.held, CASE WHEN k.number IS NULL THEN j.item END,"
    " j.version, (extract(epoch FROM j.expires_at) * 1000)::bigint, j.reason FROM flash_sale_journal j LEFT JOIN "
    "holdfast_item k ON k.item = j.item AND k.version = j.version";
constexpr const char* kDuplicates =
    "SELECT k.number, o.user_id::text, count(*), k.item, o.version FROM flash_sale_order o"
    " JOIN holdfast_item k ON k.item_id = o.item_id AND k.version = o.version"
    " WHERE o.exclusive AND o.status IN ('PENDING', 'PAID') GROUP BY k.number, o.user_id, k.item, o.version"
    " HAVING count(*) > 1";

/// The status that a change of a reservation leaves; nothing for a change of an item.
std::optional<OrderStatus> status_after(std::string_view event) {
  if (event == "RESERVE" || event == "EXTEND") return OrderStatus::pending;
  if (event == "CONFIRM" || event == "RESUME") return OrderStatus::paid;
  if (event == "RELEASE") return OrderStatus::cancelled;
  if (event == "EXPIRE") return OrderStatus::expired;
  if (event == "REFUND") return OrderStatus::refunded;
  return std::nullopt;
}

std::optional<std::int64_t> optional_in(const SqlRow& row, std::size_t column) {
  return row.at(column) ? std::optional(number_in(row, column)) : std::nullopt;
}

/// Of a row of kOrders.
OrderTerms order_terms(const SqlRow& row) {
  OrderTerms terms;
  terms.told = {OrderTerm::exclusive, OrderTerm::offer, OrderTerm::reserved_at, OrderTerm::expires_at};
  terms.exclusive = row.at(9) == "t";
  terms.price = number_in(row, 10);
  terms.offer = offer_digest(optional_in(row, 10), row.at(11), row.at(12));
  terms.reserved_at_ms = number_in(row, 13);
  terms.expires_at_ms = optional_in(row, 14);
  return terms;
}

Error unreadable(std::string_view table, const SqlRow& row) {
  return Error::format(ErrorCode::damaged, "{} has a row that cannot be read: {} {}", table,
                       row.at(0).value_or("no item"), Echo(row.at(1).value_or("")).text());
}

Difference foreign_row(DifferenceKind kind, std::string item, ItemVersion version, std::string key) {
  Difference found;
  found.kind = kind;
  found.item = std::move(item);
  found.version = version;
  found.key = std::move(key);
  found.tables = "a row";
  found.server = "the relay has written nothing of this item and version";
  return found;
}

}  // namespace

Result<std::unique_ptr<ReconcileTables>> ReconcileTables::open(const std::string& url) {
  auto connection = PostgresConnection::connect(url);
  if (!connection) return connection.error();
  std::unique_ptr<ReconcileTables> tables(new ReconcileTables(std::move(*connection)));
  HOLDFAST_TRY(tables->connection_->begin());
  const auto ids = check_version(*tables->connection_);
  if (!ids) return ids.error();
  tables->ids_ = *ids;
  HOLDFAST_TRY(tables->look());
  HOLDFAST_TRY(tables->connection_->commit());
  return tables;
}

Result<void> ReconcileTables::look() {
  const auto found = connection_->run(kCursor, {});
  if (!found) return found.error();
  if (found->rows.empty())
    return Error(ErrorCode::bad_option, "holdfast_cursor is empty: the relay has written nothing yet");
  const SqlRow& cursor = found->rows.front();
  sink_ = cursor.at(0).value_or("");
  if (cursor.at(1)) {
    const auto log = parse_log_id(*cursor.at(1));
    if (!log) return log.error();
    cursor_.log = *log;
  }
  cursor_.lsn = Lsn(unsigned_in(cursor, 2));
  cursor_.epoch = Epoch(unsigned_in(cursor, 3));
  cursor_marked_ = cursor.at(4) == "t";
  return {};
}

Result<bool> ReconcileTables::lock_out_others() {
  HOLDFAST_TRY(connection_->begin());
  const auto locked = connection_->run(kLockOut, {});
  if (!locked) return locked.error();
  HOLDFAST_TRY(connection_->commit());
  return locked->rows.at(0).at(0) == "t";
}

Result<void> ReconcileTables::read(ObservationSpill& spill, Differences& out, const Progress& progress) {
  HOLDFAST_TRY(connection_->begin());
  HOLDFAST_TRY(connection_->execute(kOneMoment));
  HOLDFAST_TRY(look());
  HOLDFAST_TRY(read_items(out));
  HOLDFAST_TRY(read_parked());
  HOLDFAST_TRY(read_orders(spill, out, progress));
  HOLDFAST_TRY(read_journal(spill, out, progress));
  HOLDFAST_TRY(read_duplicates(out));
  return connection_->commit();
}

/// Rows in pieces, so that not all of them are in memory.
Result<void> ReconcileTables::stream(const std::string& name, const std::string& select, const OnRow& on_row) {
  HOLDFAST_TRY(connection_->execute(fmt::format("DECLARE {} NO SCROLL CURSOR FOR {}", name, select)));
  const SqlStatement fetch{"fetch_" + name, fmt::format("FETCH {} FROM {}", kRowsAtOnce, name)};
  for (;;) {
    const auto piece = connection_->run(fetch, {});
    if (!piece) return piece.error();
    if (piece->rows.empty()) break;
    for (const SqlRow& row : piece->rows) HOLDFAST_TRY(on_row(row));
  }
  return connection_->execute("CLOSE " + name);
}

Result<void> ReconcileTables::read_items(Differences& out) {
  HOLDFAST_TRY(stream("reconcile_items", kItems, [&](const SqlRow& row) -> Result<void> {
    const auto facts = facts_from_json(row.at(5).value_or(""));
    if (!facts) return facts.error();
    ReconcileItem item;
    item.facts = *facts;
    item.item = row.at(0).value_or("");
    item.item_id = row.at(1).value_or("");
    item.live = row.at(2) == "t";
    item.sequence = Sequence(unsigned_in(row, 3));
    item.begins = Sequence(unsigned_in(row, 4));
    item.sold = number_in(row, 9);
    item.kept_out = row.at(10).value_or("");
    if (row.at(6)) item.row = ItemRowFound{ItemVersion(unsigned_in(row, 6)), number_in(row, 7), number_in(row, 8)};
    items_.insert_or_assign((*facts)->number.value(), std::move(item));
    return {};
  }));
  return stream("reconcile_foreign", kForeignItems, [&](const SqlRow& row) -> Result<void> {
    out.add(foreign_row(DifferenceKind::item, row.at(0).value_or(""), ItemVersion(unsigned_in(row, 1)), ""));
    return {};
  });
}

Result<void> ReconcileTables::read_parked() {
  return stream("reconcile_parked", kParked, [&](const SqlRow& row) -> Result<void> {
    const bool open = row.at(2) == "parked";
    parked_ += open ? 1U : 0U;
    const auto id = ReservationId::parse(row.at(1).value_or(""));
    if (!id) return {};  // a change of stock
    ChainFact& chain = chains_[{ItemNumber(unsigned_in(row, 0)), *id}];
    if (open) {
      chain.open = true;
      chain.first = Sequence(unsigned_in(row, 3));
    } else {
      chain.last = std::max(chain.last, Sequence(unsigned_in(row, 4)));
    }
    return {};
  });
}

Result<void> ReconcileTables::read_orders(ObservationSpill& spill, Differences& out, const Progress& progress) {
  return stream("reconcile_orders", kOrders, [&](const SqlRow& row) -> Result<void> {
    if (++orders_ % kRowsAtOnce == 0) progress("flash_sale_order", orders_);
    if (!row.at(0)) {
      out.add(foreign_row(DifferenceKind::unknown, row.at(7).value_or(""), ItemVersion(unsigned_in(row, 8)),
                          row.at(1).value_or("")));
      return {};
    }
    const auto id = ReservationId::parse(row.at(1).value_or(""));
    const auto status = parse_status(row.at(4).value_or(""));
    if (!id || !status) return unreadable("flash_sale_order", row);
    Observation seen;
    seen.number = ItemNumber(unsigned_in(row, 0));
    seen.id = *id;
    seen.source = ObservationSource::order;
    seen.sequence = Sequence(unsigned_in(row, 5));
    seen.lsn = Lsn(unsigned_in(row, 6));
    seen.status = *status;
    seen.quantity = number_in(row, 3);
    seen.user = row.at(2).value_or("");
    seen.terms = order_terms(row);
    return spill.add(seen);
  });
}

Result<void> ReconcileTables::read_journal(ObservationSpill& spill, Differences& out, const Progress& progress) {
  return stream("reconcile_journal", kJournal, [&](const SqlRow& row) -> Result<void> {
    if (++journal_rows_ % kRowsAtOnce == 0) progress("flash_sale_journal", journal_rows_);
    if (!row.at(0)) {
      out.add(foreign_row(DifferenceKind::journal, row.at(13).value_or(""), ItemVersion(unsigned_in(row, 14)),
                          "sequence " + row.at(1).value_or("")));
      return {};
    }
    JournalRow said;
    said.sequence = Sequence(unsigned_in(row, 1));
    said.lsn = Lsn(unsigned_in(row, 2));
    said.event = row.at(3).value_or("");
    said.at_ms = number_in(row, 4);
    said.id = row.at(5);
    said.user = row.at(6);
    said.quantity = number_in(row, 7);
    said.flags = number_in(row, 8);
    said.after = {number_in(row, 9), number_in(row, 10), number_in(row, 11), number_in(row, 12)};
    said.expires_at_ms = optional_in(row, 15);
    said.reason = row.at(16);
    Observation seen;
    seen.number = ItemNumber(unsigned_in(row, 0));
    seen.source = ObservationSource::journal;
    seen.sequence = said.sequence;
    seen.lsn = said.lsn;
    seen.digest = journal_digest(said);
    if (const auto status = status_after(said.event)) {
      const auto id = ReservationId::parse(said.id.value_or(""));
      if (!id) return unreadable("flash_sale_journal", row);
      seen.id = *id;
      seen.status = *status;
      seen.quantity = said.quantity;
      seen.user = said.user.value_or("");
      seen.terms = journal_terms(said);
    }
    return spill.add(seen);
  });
}

Result<void> ReconcileTables::read_duplicates(Differences& out) {
  return stream("reconcile_duplicates", kDuplicates, [&](const SqlRow& row) -> Result<void> {
    Difference found;
    found.kind = DifferenceKind::duplicate;
    found.number = ItemNumber(unsigned_in(row, 0));
    found.item = row.at(3).value_or("");
    found.version = ItemVersion(unsigned_in(row, 4));
    found.key = "user " + row.at(1).value_or("");
    found.tables = row.at(2).value_or("") + " live orders";
    found.server = "one is allowed";
    out.add(std::move(found));
    return {};
  });
}

}  // namespace holdfast
