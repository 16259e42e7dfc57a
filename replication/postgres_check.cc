#include "replication/postgres_check.h"

#include "protocol/check.h"
#include "replication/migrations.h"
#include "replication/postgres_statements.h"

namespace holdfast {
namespace {

using namespace postgres_statements;

struct TableUse {
  const char* table;
  const SqlStatement& statement;
};
const TableUse kUses[] = {{"flash_sale_item", kLockItem},
                          {"flash_sale_item", kAddItem},
                          {"flash_sale_item", kAdoptItem},
                          {"flash_sale_item", kRestartItem},
                          {"flash_sale_item", kDescribeItems},
                          {"flash_sale_item", kSumItems},
                          {"flash_sale_item_history", kNextVersion},
                          {"flash_sale_order", kInsertOrders},
                          {"flash_sale_order", kUpdateOrders},
                          {"flash_sale_journal", kWriteJournal},
                          {"flash_sale_journal", kDifferingJournal}};
const TableUse kInserts[] = {{"flash_sale_item", kAddItem},
                             {"flash_sale_item_history", kNextVersion},
                             {"flash_sale_order", kInsertOrders},
                             {"flash_sale_journal", kWriteJournal}};

const SqlStatement kWanting{
    "wanting_columns",
    "SELECT string_agg(attname, ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0"
    " AND NOT attisdropped AND attnotnull AND NOT atthasdef AND attidentity = ''"
    " AND NOT EXISTS (SELECT FROM pg_type WHERE oid = atttypid AND typdefault IS NOT NULL)"
    // 1: for each row; 2: before; 4: INSERT. Such a trigger may fill it.
    " AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = attrelid AND tgtype & 7 = 7 AND tgenabled IN ('O', 'A'))"
    " AND attname <> ALL (string_to_array($2, ', '))"};
const SqlStatement kVersionOfOthers{
    "version_of_others",
    "SELECT attnotnull FROM pg_attribute WHERE attrelid = to_regclass('flash_sale_item') AND attname = 'version'"};

/// "a, b, c" of "INSERT INTO table (a, b, c)".
std::string inserted_columns(const TableUse& use) {
  const std::string& text = use.statement.text;
  const std::size_t insert = text.find(std::string("INSERT INTO ") + use.table + " ");
  CHECK(insert != std::string::npos);
  const std::size_t begin = text.find('(', insert) + 1;
  return text.substr(begin, text.find(')', begin) - begin);
}

}  // namespace

Result<void> check_columns(PostgresConnection& connection, OutsideIds ids, bool existing_items) {
  for (const TableUse& use : kUses) {
    const auto looked = connection.prepare({use.statement.name, sql_with_ids(use.statement.text, ids)});
    if (looked) continue;
    if (looked.error().code() != ErrorCode::unsupported) return looked.error();
    return Error::format(ErrorCode::unsupported, "{} is not as deploy/postgres makes it: {}", use.table,
                         looked.error().text());
  }
  for (const TableUse& use : kInserts) {
    if (existing_items && std::string_view(use.table) == "flash_sale_item") continue;
    const auto wanting = connection.run(kWanting, {use.table, inserted_columns(use)});
    if (!wanting) return wanting.error();
    const auto& columns = wanting->rows.at(0).at(0);
    if (!columns) continue;
    return Error::format(ErrorCode::unsupported,
                         "{} wants a value for {}, of which the relay knows nothing: give it a default or allow NULL",
                         use.table, *columns);
  }
  const auto version = connection.run(kVersionOfOthers, {});
  if (!version) return version.error();
  if (version->rows.at(0).at(0) != "t") return {};
  return Error(
      ErrorCode::unsupported,
      "flash_sale_item has a column version that may not be NULL, which is how an item that is not Holdfast's is "
      "known: allow NULL, or call it something else and migrate again");
}

}  // namespace holdfast
