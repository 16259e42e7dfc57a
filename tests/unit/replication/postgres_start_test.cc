// The postgres sink that begins with a snapshot, and the one that goes on with another log.
#include "tests/simulation/simulated_disk.h"
#include "tests/unit/replication/sink_bench.h"

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::test;

namespace {

using Verb = ReservationEvent;

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::string in_words(const Result<StartReport>& report) {
  if (!report) return std::string(report.error().text());
  return std::to_string(report->items) + " " + std::to_string(report->orders) + " " + std::to_string(report->parked) +
         " " + report->set_aside;
}

/// What a new sink makes of the log as it stands, in words.
std::string begin_with(SinkBench& bench, const LogMaker& log, bool set_aside = true) {
  simulation::SimulatedDisk disk;
  auto snapshot = log.snapshot(disk);
  StartState state(snapshot);
  return in_words(bench.another_sink()->bootstrap(state, set_aside));
}

/// The same of the bench's log; what was recorded is not written.
std::string begin(SinkBench& bench, bool set_aside = false) {
  bench.tape().next();
  bench.reopen();
  return begin_with(bench, bench.log, set_aside);
}

/// What a new sink says to what was recorded in the log since it began, in words; nothing when it took it.
std::string go_on(SinkBench& bench, LogMaker& log) {
  const auto sink = bench.another_sink();
  const auto opened = sink->open();
  REQUIRE(opened.has_value());
  BatchDecoder decoder(opened->cursor, opened->items);
  decoder.feed(log.batch());
  const auto batch = decoder.next(100);
  REQUIRE(batch.has_value());
  const auto applied = sink->apply(log.log, *batch);
  return applied ? "" : std::string(applied.error().text());
}

void record(LogMaker& log, LogMaker::Item& item) {
  for (std::uint64_t id = 1; id <= 5; ++id) log.reserve(item, id, std::to_string(id));
  log.follow(item, 2, Verb::confirm);
  log.follow(item, 3, Verb::release);
  log.follow(item, 4, Verb::expire);
}

}  // namespace

TEST_CASE("postgres_start: empty tables begin with a snapshot, and events go on from there") {
  SinkBench bench;
  auto& item = bench.log.create("a", 10);
  record(bench.log, item);
  CHECK(begin(bench) == "1 5 0 ");
  CHECK(bench.orders() == "1 PENDING; 2 PAID; 3 CANCELLED; 4 EXPIRED; 5 PENDING");
  CHECK(bench.sold() == "10 3");
  CHECK(bench.rows("SELECT version, state, sequence FROM flash_sale_item") == "1 OPEN 10");
  CHECK(bench.rows("SELECT number, total, sequence, begins, live FROM holdfast_item") == "1 10 10 10 t");
  CHECK(bench.rows("SELECT log_id, lsn, epoch FROM holdfast_cursor") == "11223344-5566-7788-9900-000000000000 11 1");
  CHECK(bench.rows("SELECT count(*) FROM holdfast_audit WHERE action = 'put cursor'") == "1");

  bench.log.follow(item, 1, Verb::confirm);
  bench.log.follow(item, 5, Verb::expire);
  bench.log.reserve(item, 6, "5");
  bench.log.follow(item, 4, Verb::resume);
  CHECK(bench.flush() == "");
  CHECK(bench.orders() == "1 PAID; 2 PAID; 3 CANCELLED; 4 PAID; 5 EXPIRED; 6 PENDING");
  CHECK(bench.sold() == "10 4");
  CHECK(bench.rows("SELECT min(sequence), max(sequence), count(*) FROM flash_sale_journal") == "11 14 4");
  CHECK(bench.parked() == "");
  CHECK(bench.sink().figures().singly == 0);
}

TEST_CASE("postgres_start: tables that have something are left alone, or put aside whole") {
  SinkBench bench;
  auto& item = bench.log.create("a", 10);
  auto& gone = bench.log.create("gone", 5);
  bench.log.reserve(gone, 1, "1");
  record(bench.log, item);
  CHECK(bench.flush() == "");
  bench.execute("UPDATE flash_sale_item SET quantity = quantity + 90 WHERE item_id = 'a'");
  bench.log.follow(item, 1, Verb::confirm);
  const std::string refused = begin(bench);
  CHECK(has(refused, "LSN 14 of log 11223344"));
  CHECK(has(refused, "--set-aside"));
  CHECK(bench.rows("SELECT count(*) FROM flash_sale_order") == "6");

  bench.log.change(item, ItemEvent::adjust, 5, id_of(1));
  CHECK(begin(bench, true) == "2 6 0 holdfast_before_2");
  CHECK(bench.orders() == "1 PAID; 1 PENDING; 2 PAID; 3 CANCELLED; 4 EXPIRED; 5 PENDING");
  // What people added to the quantity stays added to it.
  CHECK(bench.sold() == "105 3");
  CHECK(bench.rows("SELECT count(*) FROM flash_sale_journal") == "0");
  CHECK(bench.rows("SELECT count(*) FROM holdfast_before_2.flash_sale_journal") == "13");
  CHECK(bench.rows("SELECT status FROM holdfast_before_2.flash_sale_order WHERE user_id = '1' AND item_id = 'a'") ==
        "PENDING");
  CHECK(bench.rows("SELECT quantity FROM holdfast_before_2.flash_sale_item WHERE item_id = 'a'") == "100");
  CHECK(bench.rows("SELECT count(*) FROM flash_sale_item_history") == "0");
  bench.log.follow(item, 5, Verb::confirm);
  CHECK(bench.flush() == "");
  CHECK(bench.rows("SELECT lsn, epoch FROM holdfast_cursor") == "20 3");
}

TEST_CASE("postgres_start: what a row had sold before it was taken over stays sold when the tables begin anew") {
  SinkBench bench(OutsideIds::text, true);
  bench.execute("INSERT INTO flash_sale_item (item_id, quantity, sold) VALUES ('a', 60, 7), ('gone', 9, 4)");
  auto& gone = bench.log.create("gone", 5);
  bench.log.reserve(gone, 1, "1");
  record(bench.log, bench.log.create("a", 10));
  CHECK(bench.flush() == "");
  CHECK(bench.sold() + " " + bench.sold("gone") == "60 10 9 5");
  LogMaker fresh;
  auto& item = fresh.create("a", 10);
  record(fresh, item);
  fresh.batch();
  CHECK(begin_with(bench, fresh) == "1 5 0 holdfast_before_2");
  CHECK(bench.sold() == "60 10");
  CHECK(bench.rows("SELECT sold_before FROM holdfast_item") == "7");
  CHECK(bench.rows("SELECT version, state, quantity, sold FROM flash_sale_item WHERE item_id = 'gone'") ==
        "0 DROPPED 9 4");
  // And once more. There is less now than what was sold before: no more than that is left.
  fresh.change(item, ItemEvent::adjust, -6, id_of(1));
  fresh.batch();
  bench.execute("UPDATE flash_sale_item SET quantity = 11 WHERE item_id = 'a'");
  CHECK(begin_with(bench, fresh) == "1 5 3 holdfast_before_3");
  CHECK(bench.sold() + " " + bench.sold("gone") == "7 7 9 4");
}

TEST_CASE("postgres_start: a row that is refused when the tables begin anew is later what it would have been") {
  SinkBench bench(OutsideIds::text, true);
  bench.execute("INSERT INTO flash_sale_item (item_id, quantity, sold) VALUES ('a', 50, 7)");
  ItemDefinition definition;
  definition.price = 200;
  auto& item = bench.log.create("a", 10, definition);
  record(bench.log, item);
  CHECK(bench.flush() == "");
  bench.execute(
      "UPDATE flash_sale_item SET quantity = 60; ALTER TABLE flash_sale_item ADD CONSTRAINT own CHECK (version = 0 OR"
      " price < 100) NOT VALID");
  bench.log.follow(item, 1, Verb::confirm);
  CHECK(begin(bench, true) == "1 5 3 holdfast_before_2");
  CHECK(bench.rows("SELECT refused, kept_quantity, sold_before FROM holdfast_item") == "refused 50 7");
  // However often.
  bench.log.follow(item, 5, Verb::confirm);
  CHECK(begin(bench, true) == "1 5 3 holdfast_before_3");
  bench.execute("ALTER TABLE flash_sale_item DROP CONSTRAINT own");
  bench.log.change(item, ItemEvent::adjust, 5, id_of(1));
  CHECK(bench.flush() == "");
  CHECK(bench.sold() == "65 7");
  CHECK(bench.rows("SELECT refused, kept_quantity, sold_before FROM holdfast_item") == "- 0 7");
  CHECK(bench.rows("SELECT count(*) FROM flash_sale_item_history") == "0");
  CHECK(bench.retry() == "");
  CHECK(bench.sold() == "65 10");
}

TEST_CASE("postgres_start: totals of versions that do not go on are in the history") {
  SinkBench bench;
  auto& old = bench.log.create("a", 10);
  auto& gone = bench.log.create("gone", 5);
  bench.log.reserve(old, 1, "1");
  bench.log.reserve(gone, 2, "1");
  CHECK(bench.flush() == "");
  const std::string history =
      "SELECT item_id, version, quantity, sold, state FROM flash_sale_item_history ORDER BY 1, 2";
  // Another log, whose item of that name is in a later version, and which has another item.
  LogMaker fresh;
  fresh.log = LogId{7};
  fresh.create("b", 3);
  auto& first = fresh.create("a", 4);
  fresh.change(first, ItemEvent::close);
  auto& second = fresh.create("a", 6);
  fresh.batch();
  CHECK(begin_with(bench, fresh) == "2 0 0 holdfast_before_2");
  CHECK(bench.rows(history) == "a 1 10 1 OPEN; gone 1 5 1 OPEN");
  CHECK(bench.rows("SELECT item_id, version, quantity, sold FROM flash_sale_item ORDER BY 1") ==
        "a 2 6 0; b 1 3 0; gone 0 5 0");
  // The one that is gone begins again under a number that the history has, and goes on to the next version.
  auto& again = fresh.create("gone", 8);
  fresh.reserve(again, 1, "1");
  fresh.change(again, ItemEvent::close);
  fresh.create("gone", 9);
  fresh.change(second, ItemEvent::close);
  CHECK(go_on(bench, fresh) == "");
  CHECK(bench.rows(history) == "a 1 10 1 OPEN; gone 1 8 1 CLOSED");
}

TEST_CASE("postgres_start: items that are not in the snapshot can come again") {
  SinkBench bench;
  auto& item = bench.log.create("a", 10);
  bench.log.reserve(item, 1, "1");
  CHECK(bench.flush() == "");
  LogMaker fresh;
  fresh.log = LogId{7};
  fresh.create("b", 3);
  fresh.batch();
  CHECK(begin_with(bench, fresh) == "1 0 0 holdfast_before_2");
  CHECK(bench.rows("SELECT item_id, version, quantity, sold FROM flash_sale_item ORDER BY 1") == "a 0 10 0; b 1 3 0");
  auto& again = fresh.create("a", 4);
  fresh.reserve(again, 1, "1");
  CHECK(go_on(bench, fresh) == "");
  CHECK(bench.sold() == "4 1");
}

TEST_CASE("postgres_start: what does not fit is parked from the beginning, each with its later events") {
  SinkBench bench(OutsideIds::bigint, true);
  bench.execute("INSERT INTO flash_sale_item (item_id, quantity) VALUES (7, 2)");
  auto& item = bench.log.create("item:7", 10);
  auto& shoe = bench.log.create("shoe", 10);
  record(bench.log, item);
  bench.log.reserve(item, 8, "alice");
  bench.log.reserve(shoe, 9, "1");
  CHECK(begin(bench) == "2 7 3 ");
  CHECK(bench.sold("7") == "2 2");
  CHECK(bench.rows("SELECT ltrim(right(key, 3), '0'), reason FROM holdfast_parked ORDER BY key") ==
        "5 no_room; 8 bad_id; 9 bad_id");
  CHECK(bench.rows("SELECT item, refused, sequence FROM holdfast_item ORDER BY number") ==
        "item:7 - 11; shoe bad_id 3");
  bench.log.follow(item, 8, Verb::expire);
  bench.log.follow(shoe, 9, Verb::expire);
  bench.log.follow(item, 5, Verb::release);
  CHECK(bench.flush() == "");
  CHECK(bench.parked() == "");
  CHECK(bench.sold("7") == "2 2");
  CHECK(bench.audit().find("sums") == std::string::npos);
}

TEST_CASE("postgres_start: orders that have ended and are refused are counted and on record, whatever refuses them") {
  for (const bool numbers : {false, true}) {
    SinkBench bench(numbers ? OutsideIds::bigint : OutsideIds::text);
    if (!numbers)
      bench.execute("ALTER TABLE flash_sale_order ADD CONSTRAINT own CHECK (user_id NOT IN ('alice', 'bob'))");
    auto& item = bench.log.create("1", 10);
    record(bench.log, item);
    bench.log.reserve(item, 6, "alice");
    bench.log.follow(item, 6, Verb::expire);
    bench.log.reserve(item, 7, "bob");
    bench.log.reserve(item, 8, "alice");
    bench.log.follow(item, 8, Verb::release);
    bench.tape().next();
    simulation::SimulatedDisk disk;
    auto snapshot = bench.log.snapshot(disk);
    StartState state(snapshot);
    const auto report = bench.another_sink()->bootstrap(state, false);
    REQUIRE(report.has_value());
    CHECK(in_words(report) == "1 8 1 ");
    CHECK(report->no_row == 2);
    CHECK(bench.rows("SELECT right(key, 1), reason, state, to_status FROM holdfast_parked ORDER BY key") ==
          (numbers ? "6 bad_id resolved EXPIRED; 7 bad_id parked PENDING; 8 bad_id resolved CANCELLED"
                   : "6 refused resolved EXPIRED; 7 refused parked PENDING; 8 refused resolved CANCELLED"));
    CHECK(bench.orders() == "1 PENDING; 2 PAID; 3 CANCELLED; 4 EXPIRED; 5 PENDING");
    // One of them comes alive again.
    bench.log.follow(item, 6, Verb::resume);
    CHECK(bench.flush() == "");
    CHECK(bench.rows(
              "SELECT right(key, 1), state, to_status FROM holdfast_parked WHERE right(key, 1) = '6' ORDER BY state") ==
          "6 parked PAID; 6 resolved EXPIRED");
  }
}

TEST_CASE("postgres_start: all or nothing") {
  SinkBench bench;
  auto& item = bench.log.create("a", 10);
  bench.log.reserve(item, 1, "1");
  CHECK(bench.flush() == "");
  bench.log.reserve(item, 2, "2");
  bench.execute(
      "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'made' USING ERRCODE = "
      "'57014';"
      " END $$; CREATE TRIGGER fail BEFORE INSERT ON flash_sale_order EXECUTE FUNCTION fail()");
  CHECK(has(begin(bench, true), "made"));
  CHECK(bench.rows("SELECT to_regnamespace('holdfast_before_2'), (SELECT count(*) FROM flash_sale_order)") == "- 1");
}

TEST_CASE("postgres_start: a relay that runs is superseded by who begins anew, or adopts") {
  for (const bool adopts : {false, true}) {
    SinkBench bench;
    auto& item = bench.log.create("a", 10);
    CHECK(bench.flush() == "");
    auto running = bench.another_sink();
    REQUIRE(running->open().has_value());
    if (adopts) {
      LogRange fork{LogId{9}, Lsn(1), Lsn(50)};
      fork.forked_from = bench.log.log;
      fork.forked_at = Lsn(2);
      CHECK(!bench.another_sink()->adopt(fork));
      CHECK(bench.rows("SELECT lsn, epoch FROM holdfast_cursor") == "3 2");
      fork.forked_at = Lsn(3);
      const auto adopted = bench.another_sink()->adopt(fork);
      REQUIRE(adopted.has_value());
      CHECK(*adopted == Cursor{LogId{9}, Lsn(3), Epoch(3)});
      CHECK(bench.rows("SELECT log_id, lsn FROM holdfast_cursor") == "09000000-0000-0000-0000-000000000000 3");
    } else {
      bench.log.reserve(item, 1, "1");
      CHECK(begin(bench, true) == "1 1 0 holdfast_before_3");
    }
    auto idle = running->untold(10);
    REQUIRE(!idle);
    CHECK(idle.error().code() == ErrorCode::superseded);
    auto again = running->open();
    REQUIRE(!again);
    CHECK(again.error().code() == ErrorCode::superseded);
  }
}

TEST_CASE("postgres_start: a relay that writes after somebody else began anew is superseded, too") {
  for (const bool adopts : {false, true}) {
    SinkBench bench;
    auto& item = bench.log.create("a", 10);
    CHECK(bench.flush() == "");
    auto running = bench.another_sink();
    REQUIRE(running->open().has_value());
    if (adopts) {
      LogRange fork{LogId{9}, Lsn(1), Lsn(50)};
      fork.forked_from = bench.log.log;
      fork.forked_at = Lsn(3);
      REQUIRE(bench.another_sink()->adopt(fork).has_value());
    } else {
      bench.log.reserve(item, 1, "1");
      CHECK(begin(bench, true) == "1 1 0 holdfast_before_3");
    }
    bench.log.reserve(item, 2, "2");
    EventBatch batch{bench.tape().next(), Lsn(5)};
    const auto late = running->apply(bench.log.log, batch);
    REQUIRE(!late);
    CHECK(late.error().code() == ErrorCode::superseded);
  }
}
