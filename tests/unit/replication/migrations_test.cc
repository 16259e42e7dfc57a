#include "replication/migrations.h"

#include "tests/doctest.h"

using namespace holdfast;

TEST_CASE("migrations: the steps are numbered without a gap, and nothing is left to fill in") {
  int version = 0;
  for (const Migration& step : migrations()) {
    CHECK(step.version == ++version);
    CHECK(!step.name.empty());
    for (const auto ids : {OutsideIds::text, OutsideIds::bigint}) {
      const std::string sql = sql_with_ids(step.sql, ids);
      CHECK(sql.find("{{") == std::string::npos);
      CHECK(sql.size() > 100);
    }
  }
  CHECK(version >= 1);
  CHECK(sql_with_ids(migrations()[0].sql, OutsideIds::bigint).find("user_id     bigint  NOT NULL") !=
        std::string::npos);
}
