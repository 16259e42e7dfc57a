// The postgres sink where constraints and columns of somebody's own refuse rows.
#include "replication/limits.h"
#include "tests/unit/replication/sink_bench.h"

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::test;

namespace {

using Verb = ReservationEvent;

}  // namespace

TEST_CASE("postgres_refused: what a constraint on the relay's own tables refuses stops it, in the database's words") {
  for (const char* constraint : {"ALTER TABLE flash_sale_journal ADD CONSTRAINT own CHECK (quantity < 5)",
                                 "ALTER TABLE holdfast_item ADD CONSTRAINT own CHECK (sequence < 3)",
                                 "ALTER TABLE holdfast_cursor ADD CONSTRAINT own CHECK (lsn < 3)"}) {
    CAPTURE(constraint);
    SinkBench bench;
    bench.execute(constraint);
    auto& item = bench.log.create("a", 10);
    bench.log.reserve(item, 1, "u", 6);
    const std::string said = bench.flush();
    CHECK(said.find("violates check constraint \"own\"") != std::string::npos);
    CHECK(bench.rows("SELECT count(*) FROM flash_sale_order") == "0");
  }
}

TEST_CASE("postgres_refused: what the database refuses of a reservation is parked in its words, and nothing else") {
  for (const std::size_t at_once : {1U, 1000U}) {
    SinkBench bench;
    bench.execute(
        "ALTER TABLE flash_sale_order ALTER user_id TYPE varchar(3), ADD CONSTRAINT own CHECK (quantity < 5),"
        " ADD CONSTRAINT never_paid CHECK (user_id <> 'x' OR status <> 'PAID')");
    auto& item = bench.log.create("a", 100);
    auto& other = bench.log.create("b", 100);
    for (std::uint64_t id = 1; id <= 20; ++id) bench.log.reserve(item, id, "u" + std::to_string(id));
    bench.log.reserve(item, 21, "long");
    bench.log.reserve(item, 22, "v", 5);
    bench.log.reserve(item, 23, "x");
    bench.log.follow(item, 23, Verb::confirm);
    for (std::uint64_t id = 24; id <= 40; ++id) bench.log.reserve(item, id, "u" + std::to_string(id));
    bench.log.reserve(other, 1, "u");
    bench.log.follow(item, 21, Verb::confirm);
    CHECK(bench.flush(at_once) == "");
    CHECK(bench.parked() == "15 refused - PAID 0; 16 refused - PENDING 0; 17 refused PENDING PAID 0");
    CHECK(bench.rows("SELECT detail FROM holdfast_parked ORDER BY first_sequence LIMIT 2") ==
          "value too long for type character varying(3); new row for relation \"flash_sale_order\" violates check "
          "constraint \"own\"");
    CHECK(bench.sold() == "100 38");
    CHECK(bench.sold("b") == "100 1");
    CHECK(bench.sink().take_alarms().size() == 1);
    CHECK(bench.audit() == "");
    // What ended asks for nothing any more, with a row or without one.
    bench.log.follow(item, 21, Verb::refund);
    bench.log.follow(item, 22, Verb::release);
    bench.log.follow(item, 23, Verb::refund);
    CHECK(bench.flush(at_once) == "");
    CHECK(bench.parked() == "");
    CHECK(bench.audit() == "");
  }
}

TEST_CASE("postgres_refused: what is checked at the end of a transaction only, or by a trigger, is parked, too") {
  for (const std::size_t at_once : {1U, 1000U}) {
    SinkBench bench;
    bench.execute(
        "ALTER TABLE flash_sale_order ADD CONSTRAINT own UNIQUE (item_id, user_id) DEFERRABLE INITIALLY DEFERRED;"
        "CREATE FUNCTION own() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.user_id = 'bot' THEN RAISE EXCEPTION"
        " 'no bots'; END IF; RETURN NEW; END $$;"
        "CREATE TRIGGER own BEFORE INSERT ON flash_sale_order FOR EACH ROW EXECUTE FUNCTION own()");
    auto& item = bench.log.create("a", 100);
    bench.log.reserve(item, 1, "1");
    bench.log.follow(item, 1, Verb::release);
    for (std::uint64_t id = 2; id <= 10; ++id) bench.log.reserve(item, id, id == 4 ? "1" : std::to_string(id));
    bench.log.reserve(item, 11, "bot");
    bench.log.reserve(item, 12, "12");
    CHECK(bench.flush(at_once) == "");
    CHECK(bench.parked() == "4 refused - PENDING 0; b refused - PENDING 0");
    CHECK(bench.rows("SELECT detail FROM holdfast_parked ORDER BY first_sequence") ==
          "duplicate key value violates unique constraint \"own\"; no bots");
    CHECK(bench.sold() == "100 9");
    CHECK(bench.audit() == "");
  }
}

TEST_CASE("postgres_refused: rows that are right only together are looked at together") {
  SinkBench bench;
  bench.execute(
      "CREATE FUNCTION agrees() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF (SELECT sold FROM flash_sale_item WHERE"
      " item_id = NEW.item_id) <> (SELECT sum(quantity) FROM flash_sale_order WHERE item_id = NEW.item_id) THEN"
      " RAISE EXCEPTION 'sums'; END IF; RETURN NULL; END $$; CREATE CONSTRAINT TRIGGER agrees AFTER INSERT ON"
      " flash_sale_order DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION agrees()");
  auto& item = bench.log.create("a", 100);
  for (std::uint64_t id = 1; id <= 10; ++id) bench.log.reserve(item, id, std::to_string(id));
  CHECK(bench.flush() == "");
  CHECK(bench.parked() == "");
  CHECK(bench.sold() == "100 10");
}

TEST_CASE("postgres_refused: of many rows those that are refused are found by halves") {
  SinkBench bench;
  bench.execute("ALTER TABLE flash_sale_order ADD CONSTRAINT own CHECK (user_id NOT LIKE '%7')");
  auto& item = bench.log.create("a", 10'000);
  for (std::uint64_t id = 1; id <= 1000; ++id) bench.log.reserve(item, id, std::to_string(100 * id + id % 100));
  CHECK(bench.flush() == "");
  CHECK(bench.rows("SELECT count(*), reason FROM holdfast_parked GROUP BY 2") == "100 refused");
  CHECK(bench.sold() == "10000 900");
  // Only those were tried one by one that were refused.
  CHECK(bench.sink().figures().singly == 100);
  CHECK(bench.audit() == "");
}

TEST_CASE("postgres_refused: a definition that the database refuses is parked, and its item goes on") {
  for (const std::size_t at_once : {1U, 1000U}) {
    SinkBench bench;
    bench.execute("ALTER TABLE flash_sale_item ADD CONSTRAINT own CHECK (price < 100)");
    auto& item = bench.log.create("a", 10);
    bench.log.reserve(item, 1, "u");
    CHECK(bench.flush(at_once) == "");
    item.definition.price = 200;
    bench.log.change(item, ItemEvent::set);
    bench.log.reserve(item, 2, "v");
    CHECK(bench.flush(at_once) == "");
    item.definition.price = 50;
    bench.log.change(item, ItemEvent::set);
    bench.log.change(item, ItemEvent::adjust, 5, id_of(9));
    CHECK(bench.flush(at_once) == "");
    CHECK(bench.rows("SELECT key, reason, to_status FROM holdfast_parked") == "sequence:4 refused -");
    CHECK(bench.rows("SELECT quantity, sold, price, sequence FROM flash_sale_item") == "15 2 50 7");
    CHECK(bench.orders() == "1 PENDING; 2 PENDING");
  }
}

TEST_CASE("postgres_refused: an item whose row the database refuses has nothing in the tables until it takes it") {
  SinkBench bench;
  bench.execute("ALTER TABLE flash_sale_item ALTER currency TYPE varchar(2)");
  ItemDefinition definition;
  definition.currency = "EUR";
  auto& refused = bench.log.create("a", 10, definition);
  auto& other = bench.log.create("b", 10);
  bench.log.reserve(refused, 1, "u");
  bench.log.reserve(other, 2, "u");
  CHECK(bench.flush() == "");
  const std::string words = "value too long for type character varying(2)";
  CHECK(bench.rows("SELECT item_id, refused, refused_words FROM holdfast_item ORDER BY number") ==
        "- refused " + words + "; b - -");
  CHECK(bench.rows("SELECT reason, detail FROM holdfast_parked") == "refused " + words);
  CHECK(bench.sold("b") == "10 1");
  // Once it takes it, the item has its row; what was parked meanwhile stays so until somebody writes it, or it ends.
  bench.execute("ALTER TABLE flash_sale_item ALTER currency TYPE text");
  bench.reopen();
  bench.log.reserve(refused, 3, "v");
  CHECK(bench.flush() == "");
  CHECK(bench.sold() == "10 1");
  CHECK(bench.rows("SELECT reason, detail FROM holdfast_parked WHERE state = 'parked'") == "refused " + words);
  bench.log.follow(refused, 1, Verb::release);
  CHECK(bench.flush() == "");
  CHECK(bench.parked() == "");
  CHECK(bench.orders() == "1 CANCELLED; 2 PENDING; 3 PENDING");
  bench.log.follow(refused, 3, Verb::release);
  bench.log.change(refused, ItemEvent::close);
  auto& next = bench.log.create("a", 20, definition);
  bench.log.reserve(next, 1, "u");
  CHECK(bench.flush() == "");
  CHECK(bench.sold() == "20 1");
  CHECK(bench.parked() == "");
}

TEST_CASE(
    "postgres_refused: a version whose row the database refused has it later, in the place of the version before") {
  SinkBench bench;
  bench.execute("ALTER TABLE flash_sale_item ADD CONSTRAINT own CHECK (price < 100)");
  auto& first = bench.log.create("a", 10);
  bench.log.reserve(first, 1, "u");
  bench.log.follow(first, 1, Verb::release);
  bench.log.change(first, ItemEvent::close);
  ItemDefinition definition;
  definition.price = 200;
  auto& second = bench.log.create("a", 20, definition);
  bench.log.reserve(second, 2, "u");
  CHECK(bench.flush() == "");
  CHECK(bench.rows("SELECT version, quantity, sold FROM flash_sale_item") == "1 10 0");
  CHECK(bench.parked() == "2 refused - PENDING 0");
  bench.execute("ALTER TABLE flash_sale_item DROP CONSTRAINT own");
  bench.reopen();
  bench.log.reserve(second, 3, "v");
  CHECK(bench.flush() == "");
  CHECK(bench.rows("SELECT version, quantity, sold, price FROM flash_sale_item") == "2 20 1 200");
  CHECK(bench.rows("SELECT version, quantity, sold, state FROM flash_sale_item_history") == "1 10 0 CLOSED");
  CHECK(bench.retry() == "");
  CHECK(bench.orders() == "1 CANCELLED; 2 PENDING; 3 PENDING");
  CHECK(bench.sold() == "20 2");
  CHECK(bench.parked() == "");
}

TEST_CASE("postgres_refused: items that are kept out are tried again a few at once, and not with each batch") {
  constexpr std::uint64_t kItems = 3 * kClaimFailuresMax;
  SinkBench bench;
  bench.execute(
      "CREATE SEQUENCE tries MINVALUE 0;"
      "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('tries');"
      " RAISE EXCEPTION 'no'; END $$; CREATE TRIGGER no BEFORE INSERT ON flash_sale_item FOR EACH ROW EXECUTE FUNCTION "
      "no()");
  const auto tries = [&bench] { return std::stoull(bench.rows("SELECT last_value + 1 FROM tries")); };
  std::vector<LogMaker::Item*> items;
  for (std::uint64_t n = 0; n < kItems; ++n) items.push_back(&bench.log.create("a" + std::to_string(n), 10));
  CHECK(bench.flush() == "");
  CHECK(tries() == kItems);
  for (std::uint64_t n = 0; n < kItems; ++n) bench.log.reserve(*items[n], n + 1, "u");
  CHECK(bench.flush(1) == "");
  CHECK(bench.sink().untold(10).has_value());
  CHECK(tries() == kItems);
  for (std::uint64_t round = 1; round <= 4; ++round) {
    REQUIRE(bench.sink().tend(Millis(round)).has_value());
    CHECK(tries() == kItems + std::min(round, std::uint64_t{3}) * kClaimFailuresMax);
  }
  // When they can be taken, all of them are, as soon as one of them is.
  bench.execute("DROP TRIGGER no ON flash_sale_item");
  REQUIRE(bench.sink().tend(kClaimAgainFirst + Millis(1)).has_value());
  REQUIRE(bench.sink().tend(kClaimAgainFirst + Millis(1)).has_value());
  CHECK(bench.rows("SELECT count(*) FROM flash_sale_item") == std::to_string(kItems));
}
