#include "replication/postgres_sink.h"

#include "tests/unit/replication/sink_bench.h"

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::test;

namespace {

using Verb = ReservationEvent;

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("postgres_sink: reservations become rows, and what becomes of them their status") {
  for (const std::size_t at_once : {1U, 2U, 1000U}) {
    SinkBench bench;
    ItemDefinition definition;
    definition.price = 995;
    definition.currency = "EUR";
    definition.sale = "spring";
    auto& item = bench.log.create("a", 10, definition);
    for (std::uint64_t id = 1; id <= 6; ++id) bench.log.reserve(item, id, "u" + std::to_string(id));
    bench.log.follow(item, 2, Verb::confirm);
    bench.log.follow(item, 3, Verb::release);
    bench.log.follow(item, 4, Verb::expire);
    bench.log.follow(item, 5, Verb::confirm);
    bench.log.follow(item, 5, Verb::refund);
    bench.log.follow(item, 6, Verb::expire);
    bench.log.follow(item, 6, Verb::resume);
    CHECK(bench.flush(at_once) == "");
    CHECK(bench.orders() == "1 PENDING; 2 PAID; 3 CANCELLED; 4 EXPIRED; 5 REFUNDED; 6 PAID");
    CHECK(bench.sold() == "10 3");
    CHECK(bench.audit() == "");
    CHECK(bench.rows("SELECT user_id, quantity, price, currency, sale_id, exclusive, sequence, lsn,"
                     " extract(epoch FROM reserved_at)::bigint, extract(epoch FROM expires_at)::bigint"
                     " FROM flash_sale_order WHERE status = 'PENDING'") ==
          "u1 1 995 EUR spring t 3 4 1700000000 1700000600");
    CHECK(bench.rows("SELECT count(*), max(sequence) FROM flash_sale_journal") == "15 15");
    CHECK(bench.rows("SELECT state, price, sequence FROM flash_sale_item") == "OPEN 995 15");
  }
}

TEST_CASE("postgres_sink: a user whose reservation ended buys again, in the same batch or later") {
  for (const std::size_t at_once : {1U, 1000U}) {
    SinkBench bench;
    auto& item = bench.log.create("a", 10);
    bench.log.reserve(item, 1, "u");
    bench.log.follow(item, 1, Verb::expire);
    bench.log.reserve(item, 2, "u");
    CHECK(bench.flush(at_once) == "");
    bench.log.follow(item, 2, Verb::release);
    bench.log.reserve(item, 3, "u");
    CHECK(bench.flush(at_once) == "");
    CHECK(bench.orders() == "1 EXPIRED; 2 CANCELLED; 3 PENDING");
    bench.log.follow(item, 3, Verb::release);
    bench.log.follow(item, 1, Verb::resume);
    CHECK(bench.flush(at_once) == "");
    CHECK(bench.orders() == "1 PAID; 2 CANCELLED; 3 CANCELLED");
    CHECK(bench.audit() == "");
    CHECK(bench.parked() == "");
    CHECK(bench.sink().figures().singly == 0);
  }
}

TEST_CASE("postgres_sink: whether a resumed order is the user's only one is as its RESUME says") {
  for (const std::size_t at_once : {1U, 1000U}) {
    SinkBench bench;
    auto& item = bench.log.create("a", 10);
    const auto limit = [&](std::int64_t units) {
      item.definition.limit = units;
      bench.log.change(item, ItemEvent::set);
    };
    // One expires, he buys another; since he may have two, both are his.
    bench.log.reserve(item, 1, "u");
    bench.log.follow(item, 1, Verb::expire);
    bench.log.reserve(item, 2, "u");
    CHECK(bench.flush(at_once) == "");
    limit(2);
    bench.log.follow(item, 1, Verb::resume);
    CHECK(bench.flush(at_once) == "");
    CHECK(bench.orders() == "1 PAID; 2 PENDING");
    CHECK(bench.rows("SELECT exclusive FROM flash_sale_order ORDER BY order_id") == "f; t");
    // May he have one again, then what is resumed is that one, whatever it was before.
    limit(1);
    bench.log.follow(item, 1, Verb::refund);
    bench.log.follow(item, 2, Verb::expire);
    limit(2);
    bench.log.reserve(item, 3, "u");
    bench.log.follow(item, 3, Verb::expire);
    limit(1);
    bench.log.follow(item, 3, Verb::resume);
    CHECK(bench.flush(at_once) == "");
    CHECK(bench.orders() == "1 REFUNDED; 2 EXPIRED; 3 PAID");
    CHECK(bench.rows("SELECT exclusive FROM flash_sale_order WHERE status = 'PAID'") == "t");
    CHECK(bench.parked() == "");
    CHECK(bench.audit() == "");
    CHECK(bench.sink().figures().singly == 0);
  }
}

TEST_CASE("postgres_sink: an id that is used again after it was forgotten starts its row anew") {
  for (const std::size_t at_once : {1U, 1000U}) {
    SinkBench bench;
    auto& item = bench.log.create("a", 10);
    bench.log.reserve(item, 1, "u");
    CHECK(bench.flush(at_once) == "");
    bench.log.follow(item, 1, Verb::expire);
    bench.log.forget(item);
    bench.log.reserve(item, 1, "v", 2);
    CHECK(bench.flush(at_once) == "");
    CHECK(bench.rows("SELECT user_id, quantity, status, sequence FROM flash_sale_order") == "v 2 PENDING 5");
    CHECK(bench.sold() == "10 2");
    CHECK(bench.rows("SELECT count(*) FROM flash_sale_journal WHERE event = 'RESERVE'") == "2");
    CHECK(bench.audit() == "");
    CHECK(bench.sink().figures().singly == 0);
  }
}

TEST_CASE("postgres_sink: totals move quantity by their difference, since people may have changed it") {
  SinkBench bench;
  auto& item = bench.log.create("a", 10);
  bench.log.reserve(item, 1, "u", 2);
  CHECK(bench.flush() == "");
  bench.execute("UPDATE flash_sale_item SET quantity = quantity + 100");
  bench.log.change(item, ItemEvent::adjust, 5, id_of(1));
  bench.log.change(item, ItemEvent::stock, -3);
  bench.log.follow(item, 1, Verb::release, true);
  CHECK(bench.flush() == "");
  CHECK(bench.sold() == "110 0");
  CHECK(bench.rows("SELECT total, sequence FROM holdfast_item") == "10 6");
}

TEST_CASE("postgres_sink: exactly what does not fit is parked, all else flows, and a chain that ends resolves itself") {
  SinkBench bench;
  auto& item = bench.log.create("a", 100);
  auto& other = bench.log.create("b", 100);
  for (std::uint64_t id = 1; id <= 4; ++id) bench.log.reserve(item, id, std::to_string(id));
  CHECK(bench.flush() == "");
  bench.execute("UPDATE flash_sale_item SET quantity = 5 WHERE item_id = 'a'");
  for (std::uint64_t id = 5; id <= 8; ++id) bench.log.reserve(item, id, std::to_string(id));
  bench.log.follow(item, 1, Verb::confirm);
  bench.log.follow(item, 6, Verb::confirm);
  for (std::uint64_t id = 5; id <= 8; ++id) bench.log.reserve(other, id, std::to_string(id));
  CHECK(bench.flush() == "");
  CHECK(bench.sold() == "5 5");
  CHECK(bench.sold("b") == "100 4");
  CHECK(bench.parked() == "6 no_room - PAID 0; 7 no_room - PENDING 0; 8 no_room - PENDING 0");
  CHECK(bench.rows("SELECT detail FROM holdfast_parked LIMIT 1") == "quantity 5, sold 5");
  // What there is room for is known without trying each.
  CHECK(bench.sink().figures().singly == 0);
  CHECK(bench.sink().figures().parked == 3);
  CHECK(bench.audit() == "");

  auto notices = bench.sink().untold(2);
  REQUIRE(notices.has_value());
  REQUIRE(notices->size() == 2);
  CHECK((*notices)[0].item == "a");
  CHECK((*notices)[0].reason == "no_room");
  CHECK(bench.sink().told(*notices).has_value());
  notices = bench.sink().untold(10);
  REQUIRE(notices->size() == 1);
  CHECK(bench.sink().told(*notices).has_value());
  CHECK(bench.sink().untold(10)->empty());

  bench.log.follow(item, 7, Verb::expire);
  bench.log.follow(item, 6, Verb::refund);
  bench.log.follow(item, 8, Verb::confirm);
  CHECK(bench.flush() == "");
  CHECK(bench.parked() == "8 no_room - PAID 0");
  CHECK(has(bench.orders(), "6 REFUNDED"));
  CHECK(has(bench.orders(), "7 EXPIRED"));
  notices = bench.sink().untold(10);
  REQUIRE(notices->size() == 2);
  CHECK(!(*notices)[0].parked());
  CHECK(bench.sink().told(*notices).has_value());
  CHECK(bench.sink().untold(10)->empty());
  CHECK(bench.audit() == "");
}

TEST_CASE("postgres_sink: a parked reservation that comes back is tried again") {
  SinkBench bench;
  auto& item = bench.log.create("a", 100);
  CHECK(bench.flush() == "");
  bench.execute("UPDATE flash_sale_item SET quantity = 0");
  bench.log.reserve(item, 1, "u");
  bench.log.follow(item, 1, Verb::expire);
  CHECK(bench.flush(1) == "");
  CHECK(bench.parked() == "");
  CHECK(bench.orders() == "1 EXPIRED");
  bench.log.follow(item, 1, Verb::resume);
  CHECK(bench.flush() == "");
  CHECK(bench.parked() == "1 no_room EXPIRED PAID 0");
  bench.log.follow(item, 1, Verb::refund);
  CHECK(bench.flush() == "");
  CHECK(bench.parked() == "");
  CHECK(bench.orders() == "1 REFUNDED");
  bench.execute("UPDATE flash_sale_item SET quantity = 1");
  bench.log.reserve(item, 2, "u");
  CHECK(bench.flush() == "");
  CHECK(bench.sold() == "1 1");
  CHECK(bench.audit() == "");
}

TEST_CASE("postgres_sink: a change of stock that the table refuses is parked under its own id") {
  SinkBench bench;
  auto& item = bench.log.create("a", 10);
  bench.log.reserve(item, 1, "u", 2);
  CHECK(bench.flush() == "");
  bench.execute("UPDATE flash_sale_item SET quantity = 3");
  bench.log.change(item, ItemEvent::adjust, -4, id_of(0x77));
  bench.log.change(item, ItemEvent::stock, -1);
  bench.log.change(item, ItemEvent::stock, -1);
  CHECK(bench.flush() == "");
  CHECK(bench.sold() == "2 2");
  CHECK(bench.rows("SELECT key, reason, stock_delta FROM holdfast_parked ORDER BY first_sequence") ==
        "adjust:00000000-0000-0000-0000-000000000077 no_room -4; sequence:6 no_room -1");
  CHECK(bench.rows("SELECT total FROM holdfast_item") == "4");
}

TEST_CASE("postgres_sink: what was written off while parked lowers the stock or stays parked") {
  SinkBench bench;
  auto& item = bench.log.create("a", 10);
  bench.log.reserve(item, 1, "u", 3);
  CHECK(bench.flush() == "");
  bench.execute("UPDATE flash_sale_item SET quantity = 4");
  bench.log.reserve(item, 2, "v", 2);
  bench.log.follow(item, 2, Verb::release, true);
  CHECK(bench.flush(1) == "");
  CHECK(bench.sold() == "4 3");
  CHECK(bench.parked() == "2 no_room - CANCELLED -2");
  bench.log.follow(item, 1, Verb::release);
  bench.log.reserve(item, 3, "v", 5);
  bench.log.follow(item, 3, Verb::release, true);
  CHECK(bench.flush(1) == "");
  CHECK(bench.parked() == "2 no_room - CANCELLED -2; 3 no_room - CANCELLED -5");
  bench.log.reserve(item, 4, "v", 1);
  bench.log.follow(item, 4, Verb::release, true);
  CHECK(bench.flush(1) == "");
  CHECK(bench.sold() == "3 0");
}

TEST_CASE("postgres_sink: rows of others in the way") {
  SinkBench bench;
  auto& item = bench.log.create("a", 100);
  for (std::uint64_t id = 1; id <= 3; ++id) bench.log.reserve(item, id, std::to_string(id));
  CHECK(bench.flush() == "");
  // A live order of user 5, one under the id of reservation 6; a row that is gone, and one that was changed.
  bench.execute(
      "INSERT INTO flash_sale_order SELECT item_id, version, '00000000-0000-0000-0000-000000000999', '5', quantity, "
      "'PAID', true,"
      " price, currency, sale_id, 0, 0, now(), null, now() FROM flash_sale_order LIMIT 1;"
      "INSERT INTO flash_sale_order SELECT item_id, version, '00000000-0000-0000-0000-000000000006', 'x', quantity, "
      "'PAID', true,"
      " price, currency, sale_id, 0, 0, now(), null, now() FROM flash_sale_order LIMIT 1;"
      "DELETE FROM flash_sale_order WHERE user_id = '1'; UPDATE flash_sale_order SET status = 'PAID' WHERE user_id = "
      "'2'");
  for (std::uint64_t id = 4; id <= 7; ++id) bench.log.reserve(item, id, std::to_string(id));
  for (std::uint64_t id = 1; id <= 3; ++id) bench.log.follow(item, id, Verb::confirm);
  CHECK(bench.flush() == "");
  CHECK(bench.parked() ==
        "5 duplicate_live - PENDING 0; 6 foreign_row - PENDING 0; 1 foreign_row PENDING PAID 0; "
        "2 foreign_row PENDING PAID 0");
  CHECK(bench.rows("SELECT user_id, status FROM flash_sale_order WHERE user_id IN ('3', '4', '7') ORDER BY 1") ==
        "3 PAID; 4 PENDING; 7 PENDING");
  bench.log.follow(item, 5, Verb::expire);
  bench.log.follow(item, 6, Verb::expire);
  bench.log.follow(item, 1, Verb::refund);
  CHECK(bench.flush() == "");
  // What had a row that is no longer what it was is for a person.
  CHECK(bench.parked() == "1 foreign_row PENDING REFUNDED 0; 2 foreign_row PENDING PAID 0");
}

TEST_CASE("postgres_sink: a schema of numbers parks what is none") {
  SinkBench bench(OutsideIds::bigint);
  auto& item = bench.log.create("item:7", 100);
  auto& same = bench.log.create("7", 100);
  auto& shoe = bench.log.create("shoe", 100);
  bench.log.reserve(item, 1, "42");
  bench.log.reserve(item, 2, "alice");
  bench.log.reserve(same, 3, "42");
  bench.log.reserve(shoe, 4, "42");
  bench.log.reserve(item, 5, "43");
  CHECK(bench.flush() == "");
  CHECK(bench.rows("SELECT item_id, user_id, status FROM flash_sale_order ORDER BY 2") == "7 42 PENDING; 7 43 PENDING");
  CHECK(bench.sold("7") == "100 2");
  CHECK(bench.rows("SELECT item, ltrim(right(key, 3), '0'), reason, user_id FROM holdfast_parked ORDER BY key") ==
        "item:7 2 bad_id alice; 7 3 bad_id 42; shoe 4 bad_id 42");
  CHECK(bench.rows("SELECT item, item_id, refused FROM holdfast_item ORDER BY number") ==
        "item:7 7 -; 7 - bad_id; shoe - bad_id");
  bench.log.follow(item, 2, Verb::expire);
  bench.log.follow(shoe, 4, Verb::expire);
  bench.log.reserve(item, 6, "bob");
  bench.log.follow(item, 6, Verb::release, true);
  CHECK(bench.flush() == "");
  CHECK(bench.rows("SELECT item FROM holdfast_parked WHERE state = 'parked'") == "7");
  CHECK(bench.sold("7") == "99 2");
  CHECK(bench.audit() == "");
}

TEST_CASE("postgres_sink: a new version keeps the old totals, DROP the row; both also within one batch") {
  for (const std::size_t at_once : {1U, 1000U}) {
    SinkBench bench;
    auto& first = bench.log.create("a", 10);
    bench.log.reserve(first, 1, "u", 4);
    bench.log.follow(first, 1, Verb::confirm);
    bench.log.change(first, ItemEvent::close);
    auto& second = bench.log.create("a", 20);
    bench.log.reserve(second, 1, "u", 5);
    CHECK(bench.flush(at_once) == "");
    CHECK(bench.rows("SELECT version, quantity, sold, state FROM flash_sale_item_history") == "1 10 4 CLOSED");
    CHECK(bench.rows("SELECT version, quantity, sold, state FROM flash_sale_item") == "2 20 5 OPEN");
    CHECK(bench.rows("SELECT version, quantity, status FROM flash_sale_order ORDER BY 1") == "1 4 PAID; 2 5 PENDING");
    bench.log.follow(second, 1, Verb::release);
    bench.log.change(second, ItemEvent::close);
    bench.log.change(second, ItemEvent::drop);
    CHECK(bench.flush(at_once) == "");
    CHECK(bench.rows("SELECT version, quantity, sold, state FROM flash_sale_item") == "2 20 0 DROPPED");
    CHECK(bench.rows("SELECT version, live FROM holdfast_item ORDER BY 1") == "1 f; 2 f");
    bench.log.create("a", 30);
    CHECK(bench.flush(at_once) == "");
    CHECK(bench.rows("SELECT version, quantity, sold, state FROM flash_sale_item") == "3 30 0 OPEN");
    CHECK(bench.rows("SELECT version, quantity FROM flash_sale_item_history ORDER BY 1") == "1 10; 2 20");
    CHECK(bench.audit() == "");
  }
}

TEST_CASE("postgres_sink: what is parked of a version stays so when the next one comes in the same batch") {
  for (const std::size_t at_once : {1U, 1000U}) {
    SinkBench bench;
    auto& first = bench.log.create("a", 10);
    CHECK(bench.flush() == "");
    bench.execute("UPDATE flash_sale_item SET quantity = 0");
    bench.log.reserve(first, 1, "u");
    bench.log.follow(first, 1, Verb::confirm);
    bench.log.change(first, ItemEvent::close);
    auto& second = bench.log.create("a", 20);
    bench.log.reserve(second, 1, "u");
    CHECK(bench.flush(at_once) == "");
    CHECK(bench.rows("SELECT version, reason, to_status FROM holdfast_parked") == "1 no_room PAID");
    CHECK(bench.rows("SELECT version, quantity, sold FROM flash_sale_item") == "2 20 1");
  }
}

TEST_CASE("postgres_sink: rows of items that people made are taken over when that was asked for") {
  for (const bool taken_over : {false, true}) {
    SinkBench bench(OutsideIds::text, taken_over);
    bench.execute("INSERT INTO flash_sale_item (item_id, quantity) VALUES ('a', 70)");
    auto& item = bench.log.create("a", 100);
    bench.log.reserve(item, 1, "u", 2);
    CHECK(bench.flush() == "");
    CHECK(bench.sold() == (taken_over ? "70 2" : "70 0"));
    CHECK(bench.parked() == (taken_over ? "" : "1 foreign_row - PENDING 0"));
  }
}
