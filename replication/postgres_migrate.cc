#include "replication/postgres_migrate.h"

namespace holdfast {
namespace {

constexpr const char* kVersions =
    "SET LOCAL statement_timeout = 0;"  // however much there is to change
    "SELECT pg_advisory_xact_lock(hashtextextended('holdfast-schema', 0));"
    "CREATE TABLE IF NOT EXISTS holdfast_schema ("
    " version int PRIMARY KEY, name text NOT NULL, ids text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())";
const SqlStatement kExists{"schema_exists", "SELECT to_regclass('holdfast_schema') IS NOT NULL"};
const SqlStatement kNewest{"schema_newest", "SELECT version, ids FROM holdfast_schema ORDER BY version DESC LIMIT 1"};
const SqlStatement kApplied{"schema_applied",
                            "INSERT INTO holdfast_schema (version, name, ids) VALUES ($1::int, $2, $3)"};
// What the relay may not do; and what of that is gone which refuses wrong rows.
const SqlStatement kNoRights{
    "schema_rights",
    "SELECT string_agg(t, ', '), current_user FROM unnest(ARRAY['flash_sale_item', 'flash_sale_item_history',"
    " 'flash_sale_order', 'flash_sale_journal', 'holdfast_cursor', 'holdfast_item', 'holdfast_parked',"
    " 'holdfast_audit']) t WHERE to_regclass(t) IS NULL OR NOT (has_table_privilege(t, 'SELECT')"
    " AND has_table_privilege(t, 'INSERT') AND has_table_privilege(t, 'UPDATE'))"};
const SqlStatement kNoGuards{
    "schema_guards",
    "SELECT string_agg(g, ', ') FROM unnest(ARRAY['flash_sale_item_sold', 'flash_sale_order_live']) g"
    " WHERE NOT EXISTS (SELECT FROM pg_constraint WHERE conname = g AND convalidated"
    " AND conrelid = to_regclass('flash_sale_item'))"
    " AND NOT EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass(g) AND indisunique AND indisvalid)"};

struct SchemaVersion {
  int version = 0;
  OutsideIds ids{};
};

Result<SchemaVersion> newest(PostgresConnection& connection) {
  const auto found = connection.run(kNewest, {});
  if (!found) return found.error();
  if (found->rows.empty()) return SchemaVersion{};
  const SqlRow& row = found->rows.front();
  const bool numbers = row[1] == ids_name(OutsideIds::bigint);
  return SchemaVersion{std::stoi(row[0].value_or("0")), numbers ? OutsideIds::bigint : OutsideIds::text};
}

Error too_new(int version, int known) {
  return Error::format(ErrorCode::unsupported,
                       "the schema has version {}, and this holdfast-relay knows {}: use a newer one", version, known);
}

}  // namespace

Result<MigrationReport> migrate(PostgresConnection& connection, std::optional<OutsideIds> ids,
                                std::span<const Migration> steps) {
  const int known = steps.back().version;
  HOLDFAST_TRY(connection.begin());
  HOLDFAST_TRY(connection.execute(kVersions));
  const auto before = newest(connection);
  if (!before) return before.error();
  if (before->version > known) return too_new(before->version, known);
  if (before->version > 0 && ids && *ids != before->ids) {
    return Error::format(ErrorCode::bad_option, "--ids {}: the tables have {} ids, which does not change any more",
                         ids_name(*ids), ids_name(before->ids));
  }
  MigrationReport report{before->version, known, before->version > 0 ? before->ids : ids.value_or(OutsideIds::text)};
  for (const Migration& step : steps) {
    if (step.version <= before->version) continue;
    HOLDFAST_TRY(connection.execute(sql_with_ids(step.sql, report.ids)));
    HOLDFAST_TRY(connection.run(
        kApplied, {std::to_string(step.version), std::string(step.name), std::string(ids_name(report.ids))}));
  }
  HOLDFAST_TRY(connection.commit());
  return report;
}

namespace {

Result<void> check_rights(PostgresConnection& connection) {
  const auto rights = connection.run(kNoRights, {});
  if (!rights) return rights.error();
  const SqlRow& row = rights->rows.at(0);
  if (row.at(0)) {
    return Error::format(ErrorCode::unsupported,
                         "{} cannot be written: GRANT SELECT, INSERT, UPDATE ON {} TO {}, or make what is not there",
                         *row[0], *row[0], row.at(1).value_or(""));
  }
  const auto guards = connection.run(kNoGuards, {});
  if (!guards) return guards.error();
  if (!guards->rows.at(0).at(0)) return {};
  return Error::format(ErrorCode::unsupported,
                       "{} of the schema is gone, without which a unit can be sold twice: make it again "
                       "(deploy/postgres)",
                       *guards->rows[0][0]);
}

}  // namespace

Result<OutsideIds> check_version(PostgresConnection& connection) {
  const auto exists = connection.run(kExists, {});
  if (!exists) return exists.error();
  const bool there = exists->rows.at(0).at(0) == "t";
  const auto found = there ? newest(connection) : Result<SchemaVersion>(SchemaVersion{});
  if (!found) return found.error();
  const int known = migrations().back().version;
  if (found->version > known) return too_new(found->version, known);
  if (found->version < known) {
    return Error::format(ErrorCode::unsupported,
                         "the schema has version {} and should have {}: run holdfast-relay migrate --postgres URL",
                         found->version, known);
  }
  return found->ids;
}

Result<OutsideIds> check_schema(PostgresConnection& connection) {
  auto ids = check_version(connection);
  if (!ids) return ids;
  HOLDFAST_TRY(check_rights(connection));
  return ids;
}

}  // namespace holdfast
