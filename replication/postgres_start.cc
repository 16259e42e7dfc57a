#include "replication/postgres_start.h"

#include "replication/postgres_statements.h"
#include "replication/sql_rows.h"

#include <fmt/format.h>

#include <array>

namespace holdfast {
namespace {

const SqlStatement kKeptRows{
    "kept_rows",
    "SELECT k.item, k.version, coalesce(i.quantity - k.total, k.kept_quantity), k.sold_before"
    " FROM holdfast_item k LEFT JOIN flash_sale_item i ON i.item_id = k.item_id AND i.version ="
    " k.version WHERE i.quantity <> k.total OR k.sold_before <> 0 OR k.kept_quantity <> 0"};
constexpr const char* kToHistory =
    "INSERT INTO flash_sale_item_history (item_id, version, quantity, sold, sequence, state, price, currency, sale_id,"
    " ended_at) SELECT item_id, version, quantity, sold, sequence, state, price, currency, sale_id, now()"
    " FROM flash_sale_item WHERE version > 0 " HOLDFAST_NEWER_HISTORY
    ";"
    "UPDATE flash_sale_item i SET version = 0, sequence = 0, state = 'DROPPED', sold = coalesce((SELECT"
    " least(k.sold_before, i.quantity) FROM holdfast_item k WHERE k.item_id = i.item_id AND k.version = i.version), 0)"
    " WHERE i.version > 0;";
// Of items that have their rows again, and of those that wait for theirs.
constexpr const char* kFinishHistory =
    "DELETE FROM flash_sale_item_history h USING flash_sale_item i"
    " WHERE h.item_id = i.item_id AND h.version >= i.version AND i.version > 0;"
    "DELETE FROM flash_sale_item_history h USING {0}.holdfast_item before, holdfast_item k"
    " WHERE k.refused IS NOT NULL AND before.item = k.item AND h.item_id = before.item_id AND h.version >= k.version";

constexpr std::array<const char*, 4> kEmptied = {"flash_sale_order", "flash_sale_journal", "holdfast_item",
                                                 "holdfast_parked"};
constexpr std::array<const char*, 3> kNotEmptied = {"flash_sale_item", "flash_sale_item_history", "holdfast_cursor"};

}  // namespace

Result<PutAside> put_aside(PostgresConnection& connection, Epoch epoch) {
  const auto found = connection.run(kKeptRows, {});
  if (!found) return found.error();
  PutAside aside;
  for (const SqlRow& row : found->rows) {
    aside.kept[{row.at(0).value_or(""), ItemVersion(unsigned_in(row, 1))}] = {number_in(row, 2), number_in(row, 3)};
  }
  aside.schema = fmt::format("holdfast_before_{}", epoch.value());
  // However much there is to copy.
  std::string script = "SET LOCAL statement_timeout = 0; CREATE SCHEMA " + aside.schema + ";";
  const auto copy = [&](const char* table) {
    script += fmt::format("CREATE TABLE {}.{} AS TABLE {};", aside.schema, table, table);
  };
  for (const char* const table : kNotEmptied) copy(table);
  script += kToHistory;
  for (const char* const table : kEmptied) {
    copy(table);
    script += fmt::format("TRUNCATE {};", table);
  }
  HOLDFAST_TRY(connection.execute(script));
  return aside;
}

Result<void> finish_history(PostgresConnection& connection, const std::string& schema) {
  return connection.execute(fmt::format(kFinishHistory, schema));
}

Result<void> PostgresStart::on_item(const StartItem& item) {
  ++items_;
  return batch_.begin_item(item, at_);
}

Result<void> PostgresStart::on_orders(const StartItem& item, std::span<const OrderChange> orders) {
  orders_ += orders.size();
  return batch_.begin_orders(item, orders, at_);
}

}  // namespace holdfast
