#include "replication/postgres_start.h"

#include "protocol/check.h"
#include "replication/sql_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace holdfast {
namespace {

const SqlStatement kDifferences{"quantity_differences",
                                "SELECT i.item_id::text, i.version, i.quantity - k.total FROM flash_sale_item i"
                                " JOIN holdfast_item k ON k.item_id = i.item_id AND k.version = i.version"
                                " WHERE i.quantity <> k.total"};

constexpr std::array<const char*, 5> kEmptied = {"flash_sale_item_history", "flash_sale_order", "flash_sale_journal",
                                                 "holdfast_item", "holdfast_parked"};
constexpr std::array<const char*, 2> kKept = {"flash_sale_item", "holdfast_cursor"};

}  // namespace

Result<PutAside> put_aside(PostgresConnection& connection, Epoch epoch) {
  const auto found = connection.run(kDifferences, {});
  if (!found) return found.error();
  PutAside aside;
  for (const SqlRow& row : found->rows) {
    aside.differences[{row.at(0).value_or(""), ItemVersion(unsigned_in(row, 1))}] = number_in(row, 2);
  }
  aside.schema = fmt::format("holdfast_before_{}", epoch.value());
  // However much there is to copy.
  std::string script = "SET LOCAL statement_timeout = 0; CREATE SCHEMA " + aside.schema + ";";
  const auto copy = [&](const char* table) {
    script += fmt::format("CREATE TABLE {}.{} AS TABLE {};", aside.schema, table, table);
  };
  for (const char* const table : kEmptied) {
    copy(table);
    script += fmt::format("TRUNCATE {};", table);
  }
  for (const char* const table : kKept) copy(table);
  script += "UPDATE flash_sale_item SET version = 0, sequence = 0, sold = 0, state = NULL WHERE version IS NOT NULL";
  HOLDFAST_TRY(connection.execute(script));
  return aside;
}

Result<void> PostgresStart::on_item(const StartItem& item) {
  ++items_;
  HOLDFAST_TRY(batch_.begin_item(item, at_));
  const KnownItem& known = known_.at(item.facts->number);
  const auto difference = differences_.find({known.item_id, item.facts->version});
  if (difference == differences_.end()) return {};
  const ItemSum sum{item.facts, std::max(difference->second, -known.total), 0, item.sequence, at_};
  const auto moved = tables_.sum_items(std::span(&sum, 1), known_);
  if (!moved) return moved.error();
  CHECK(moved->fits());
  return {};
}

Result<void> PostgresStart::on_orders(const StartItem& item, std::span<const OrderChange> orders) {
  orders_ += orders.size();
  return batch_.begin_orders(item, orders, at_);
}

}  // namespace holdfast
