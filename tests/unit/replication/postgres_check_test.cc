// What can be seen of the tables before something is written.
#include "tests/unit/replication/sink_bench.h"

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::test;

TEST_CASE("postgres_check: columns that are missing, of another type, or want a value are an error of the start") {
  struct Damage {
    const char* sql;
    const char* said;
  };
  for (const Damage& damage : {
           Damage{"ALTER TABLE flash_sale_item DROP COLUMN price",
                  "flash_sale_item is not as deploy/postgres makes it: postgres: column \"price\" of relation"},
           Damage{"ALTER TABLE flash_sale_item ALTER state TYPE integer USING 0",
                  "column \"state\" is of type integer but expression is of type text"},
           Damage{"ALTER TABLE flash_sale_item DROP CONSTRAINT flash_sale_item_sold, ALTER quantity TYPE text",
                  "flash_sale_item_sold of the schema is gone"},
           Damage{"ALTER TABLE flash_sale_order ALTER reserved_at TYPE bigint USING 0",
                  "flash_sale_order is not as deploy/postgres makes it"},
           Damage{"ALTER TABLE flash_sale_journal ALTER flags DROP DEFAULT, ALTER flags TYPE boolean USING true",
                  "flash_sale_journal is not as deploy/postgres makes it"},
           Damage{"ALTER TABLE flash_sale_item ADD title text NOT NULL", "flash_sale_item wants a value for title"},
           Damage{
               "ALTER TABLE flash_sale_order ADD a text NOT NULL, ADD b text NOT NULL DEFAULT '', ADD c text NOT NULL",
               "flash_sale_order wants a value for a, c, of which"},
           Damage{"ALTER TABLE flash_sale_item ALTER version SET NOT NULL", "a column version that may not be NULL"},
       }) {
    CAPTURE(damage.sql);
    SinkBench bench;
    bench.execute(damage.sql);
    const auto opened = bench.another_sink()->open();
    REQUIRE(!opened);
    CHECK(opened.error().code() == ErrorCode::unsupported);
    CAPTURE(opened.error().text());
    CHECK(opened.error().text().find(damage.said) != std::string::npos);
  }
}

TEST_CASE("postgres_check: columns of people's own and types that take the values are fine") {
  SinkBench bench;
  bench.execute(
      "ALTER TABLE flash_sale_item ADD title text, ADD made_at timestamptz NOT NULL DEFAULT now(),"
      " ALTER quantity TYPE integer, ALTER price TYPE numeric(10, 2), ALTER opens_at TYPE timestamp;"
      "ALTER TABLE flash_sale_order ADD note text, ADD serial bigint GENERATED ALWAYS AS IDENTITY,"
      " ALTER user_id TYPE varchar(100), ADD twice bigint GENERATED ALWAYS AS (quantity * 2) STORED");
  ItemDefinition definition;
  definition.price = 995;
  auto& item = bench.log.create("a", 10, definition);
  bench.log.reserve(item, 1, "u");
  CHECK(bench.flush() == "");
  CHECK(bench.sold() == "10 1");
  CHECK(bench.orders() == "1 PENDING");
}

TEST_CASE("postgres_check: columns that a trigger or their type's default fills are fine") {
  SinkBench bench;
  bench.execute(
      "CREATE DOMAIN shop AS text DEFAULT 'main'; ALTER TABLE flash_sale_item ADD shop shop NOT NULL;"
      "ALTER TABLE flash_sale_order ADD serial bigint NOT NULL; CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql"
      " AS $$ BEGIN NEW.serial = 7; RETURN NEW; END $$;"
      "CREATE TRIGGER fill BEFORE INSERT ON flash_sale_order FOR EACH ROW EXECUTE FUNCTION fill()");
  auto& item = bench.log.create("a", 10);
  bench.log.reserve(item, 1, "u");
  CHECK(bench.flush() == "");
  CHECK(bench.rows("SELECT i.shop, o.serial FROM flash_sale_item i JOIN flash_sale_order o USING (item_id)") ==
        "main 7");
  bench.execute("ALTER TABLE flash_sale_order DISABLE TRIGGER fill");
  const auto opened = bench.another_sink()->open();
  REQUIRE(!opened);
  CHECK(opened.error().text().find("flash_sale_order wants a value for serial") != std::string::npos);
}

TEST_CASE("postgres_check: rows of people's own may have columns that only they can fill") {
  SinkBench bench(OutsideIds::text, true);
  bench.execute(
      "ALTER TABLE flash_sale_item ADD title text NOT NULL;"
      "INSERT INTO flash_sale_item (item_id, quantity, title) VALUES ('a', 5, 'a shoe')");
  auto& item = bench.log.create("a", 10);
  auto& without = bench.log.create("b", 10);
  bench.log.reserve(item, 1, "u");
  bench.log.reserve(without, 2, "u");
  CHECK(bench.flush() == "");
  CHECK(bench.sold() == "5 1");
  CHECK(bench.rows("SELECT item, reason FROM holdfast_parked") == "b refused");
}
