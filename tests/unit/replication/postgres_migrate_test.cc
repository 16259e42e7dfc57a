// The database's schema, brought from one version to the next.
#include "replication/postgres_migrate.h"

#include "tests/unit/replication/sink_bench.h"

#include <array>

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::test;

namespace {

constexpr std::array<Migration, 2> kSteps{{{1, "first", "CREATE TABLE one (id {{id}})"},
                                           {2, "second",
                                            "ALTER TABLE one ADD COLUMN more {{id}};"
                                            "INSERT INTO one VALUES (1, current_setting('statement_timeout')::int)"}}};

/// "before after ids", or the error.
std::string bring_to(std::span<const Migration> steps, std::optional<OutsideIds> ids) {
  auto connection = PostgresConnection::connect(database_url());
  REQUIRE(connection.has_value());
  const auto report = migrate(**connection, ids, steps);
  if (!report) return std::string(report.error().text());
  return std::to_string(report->before) + " " + std::to_string(report->after) + " " +
         std::string(ids_name(report->ids));
}

}  // namespace

TEST_CASE(
    "postgres_migrate: a database gets the steps that it lacks, with the ids of the first, however long they take") {
  SinkBench bench;
  bench.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public");
  const std::span steps(kSteps);
  CHECK(bring_to(steps.first(1), OutsideIds::bigint) == "0 1 bigint");
  CHECK(bring_to(steps, std::nullopt) == "1 2 bigint");
  CHECK(bench.rows("SELECT * FROM one") == "1 0");
  CHECK(bench.rows("SELECT version, name, ids FROM holdfast_schema ORDER BY 1") == "1 first bigint; 2 second bigint");
  CHECK(bring_to(steps, std::nullopt) == "2 2 bigint");
  CHECK(bring_to(steps.first(1), std::nullopt).find("has version 2, and this holdfast-relay knows 1") !=
        std::string::npos);
}
