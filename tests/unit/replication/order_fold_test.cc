#include "replication/order_fold.h"

#include "tests/unit/replication/event_tape.h"

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::test;

namespace {

using Verb = ReservationEvent;

OrderFold fold_of(const std::vector<Event>& events, std::int64_t stock_delta_of_last = 0) {
  std::vector<EventStep> steps;
  steps.reserve(events.size());
  for (const Event& event : events) steps.push_back({&event, 0});
  steps.back().stock_delta = stock_delta_of_last;
  auto fold = fold_steps(steps);
  REQUIRE(fold.has_value());
  return *fold;
}

}  // namespace

TEST_CASE("order_fold: one change a reservation, one sum an item") {
  LogMaker log;
  auto& first = log.create("a", 100);
  auto& second = log.create("b", 100);
  EventTape tape(log);
  log.reserve(first, 1, "1");
  tape.next();
  log.reserve(first, 2, "2", 3);
  log.follow(first, 2, Verb::confirm);
  log.reserve(second, 2, "2");
  log.follow(first, 1, Verb::expire);
  log.reserve(first, 3, "3");
  log.follow(first, 3, Verb::release);
  const auto fold = fold_of(tape.next(), -5);
  REQUIRE(fold.inserts.size() == 3);
  REQUIRE(fold.updates.size() == 1);
  CHECK(fold.updates[0].id == id_of(1));
  CHECK(fold.resumes.empty());
  REQUIRE(fold.items.size() == 2);
  CHECK(fold.items[0].item->name == "a");
  CHECK(fold.items[0].sold_delta == 3 - 1);
  CHECK(fold.items[0].stock_delta == -5);
  CHECK(fold.items[0].last == Sequence(8));
  CHECK(fold.items[1].sold_delta == 1);
}

TEST_CASE("order_fold: rows end before others of the same user begin, also those that come back") {
  LogMaker log;
  auto& item = log.create("a", 100);
  EventTape tape(log);
  log.reserve(item, 1, "u");
  log.reserve(item, 2, "v");
  log.follow(item, 2, Verb::expire);
  tape.next();
  log.follow(item, 1, Verb::expire);
  log.reserve(item, 3, "u");
  log.follow(item, 2, Verb::resume);
  const auto fold = fold_of(tape.next());
  REQUIRE(fold.updates.size() == 1);
  CHECK(fold.updates[0].to == OrderStatus::expired);
  REQUIRE(fold.resumes.size() == 1);
  CHECK(fold.resumes[0].id == id_of(2));
  REQUIRE(fold.inserts.size() == 1);
  CHECK(fold.items[0].sold_delta == 1);
}

TEST_CASE("order_fold: an id that comes again begins a new row; that of a row in the table ends it first") {
  LogMaker log;
  auto& item = log.create("a", 100);
  EventTape tape(log);
  log.reserve(item, 1, "u");
  tape.next();
  log.follow(item, 1, Verb::expire);
  log.reserve(item, 1, "v", 2);
  log.follow(item, 1, Verb::release);
  log.reserve(item, 1, "w", 4);
  const auto fold = fold_of(tape.next());
  REQUIRE(fold.updates.size() == 1);
  CHECK(fold.updates[0].to == OrderStatus::expired);
  CHECK(fold.updates[0].last == Sequence(4));
  REQUIRE(fold.inserts.size() == 1);
  CHECK(fold.inserts[0].user == "w");
  CHECK(!fold.inserts[0].from);
  CHECK(fold.inserts[0].to == OrderStatus::pending);
  CHECK(fold.items[0].sold_delta == 4 - 1);
}

TEST_CASE("order_fold: events of items alone change no order") {
  LogMaker log;
  auto& item = log.create("a", 100);
  EventTape tape(log);
  log.change(item, ItemEvent::adjust, 7, id_of(1));
  const auto fold = fold_of(tape.next(), 7);
  CHECK(fold.inserts.empty());
  REQUIRE(fold.items.size() == 1);
  CHECK(fold.items[0].stock_delta == 7);
  CHECK(fold_steps({})->empty());
}
