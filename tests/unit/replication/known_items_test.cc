#include "replication/known_items.h"

#include "tests/unit/replication/event_tape.h"

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::test;

namespace {

KnownItem loaded(const Event& load) { return {load.item, "id", {}, total(load.after), Sequence()}; }

}  // namespace

TEST_CASE("known_items: deltas of stock come out of totals, so that nothing of them is lost") {
  LogMaker log;
  auto& item = log.create("a", 10);
  log.reserve(item, 1, "u", 3);
  log.change(item, ItemEvent::adjust, 5, id_of(1));
  log.follow(item, 1, ReservationEvent::release, true);
  log.change(item, ItemEvent::stock, -2);
  log.change(item, ItemEvent::fence);
  EventTape tape(log);
  const auto events = tape.next();
  KnownItems known;
  known.put(loaded(events[0]));
  const auto steps = known.take(events);
  REQUIRE(steps.has_value());
  std::vector<std::int64_t> deltas;
  for (const EventStep& step : *steps) deltas.push_back(step.stock_delta);
  CHECK(deltas == std::vector<std::int64_t>{0, 0, 0, 5, -3, -2, 0});
  CHECK(known.at(ItemNumber(1)).total == 10);
  CHECK(known.at(ItemNumber(1)).sequence == Sequence(7));
  CHECK(known.take_touched() == std::set<ItemNumber>{ItemNumber(1)});
  CHECK(known.take_touched().empty());
}

TEST_CASE("known_items: an event that is not the item's next, or of an item that is not known, is never taken") {
  LogMaker log;
  auto& item = log.create("a", 10);
  EventTape tape(log);
  const auto first = tape.next();
  log.reserve(item, 1, "u");
  const auto second = tape.next();
  log.reserve(item, 2, "v");
  const auto third = tape.next();
  KnownItems known;
  CHECK(!known.take(first));
  known.put(loaded(first[0]));
  CHECK(known.take(first).has_value());
  const auto gap = known.take(third);
  REQUIRE(!gap);
  CHECK(gap.error().code() == ErrorCode::damaged);
  CHECK(gap.error().text().starts_with("LSN 7 is change 4 of item number 1, of which the tables have 2"));
  CHECK(known.take(second).has_value());
  CHECK(!known.take(second));
}

TEST_CASE("known_items: versions of one name never share a piece") {
  LogMaker log;
  auto& first = log.create("a", 10);
  log.create("b", 10);
  log.change(first, ItemEvent::close);
  auto& next = log.create("a", 20);
  log.change(next, ItemEvent::close);
  log.create("a", 30);
  EventTape tape(log);
  const auto events = tape.next();
  const auto pieces = split_at_loads(events);
  REQUIRE(pieces.size() == 3);
  CHECK(pieces[0].size() == 5);
  CHECK(pieces[1].size() == 3);
  CHECK(pieces[2].size() == 2);
  CHECK(pieces[1].front().is(ItemEvent::load));
  CHECK(split_at_loads({}).empty());
}
