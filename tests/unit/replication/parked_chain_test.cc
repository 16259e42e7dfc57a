#include "replication/parked_chain.h"

#include "tests/unit/replication/event_tape.h"

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::test;

TEST_CASE("parked_chain: what happens to a parked reservation is added to it") {
  LogMaker log;
  auto& item = log.create("a", 10);
  EventTape tape(log);
  tape.next();
  log.reserve(item, 1, "u", 2);
  log.follow(item, 1, ReservationEvent::confirm);
  log.follow(item, 1, ReservationEvent::refund, true);
  const auto events = tape.next();
  ParkedChain chain = begin_chain({&events[0], 0}, ParkReason::no_room, "quantity 1, sold 1");
  CHECK(chain.key == id_text(id_of(1)));
  CHECK(!chain.ended());
  OrderFold fold = fold_chain(chain, events[0].item);
  REQUIRE(fold.inserts.size() == 1);
  CHECK(fold.items[0].sold_delta == 2);
  REQUIRE(follow_chain(chain, {&events[1], 0}).has_value());
  REQUIRE(follow_chain(chain, {&events[2], -2}).has_value());
  CHECK(chain.ended());
  CHECK(chain.stock_delta == -2);
  CHECK(chain.first == Sequence(3));
  CHECK(chain.last == Sequence(5));
  fold = fold_chain(chain, events[0].item);
  CHECK(fold.inserts[0].to == OrderStatus::refunded);
  CHECK(fold.items[0].sold_delta == 0);
  CHECK(fold.items[0].stock_delta == -2);
}

TEST_CASE("parked_chain: changes of stock are named by their own id, or by their sequence") {
  LogMaker log;
  auto& item = log.create("a", 10);
  log.change(item, ItemEvent::adjust, -4, id_of(9));
  log.change(item, ItemEvent::stock, -1);
  EventTape tape(log);
  const auto events = tape.next();
  const ParkedChain adjust = begin_chain({&events[2], -4}, ParkReason::no_room, "");
  CHECK(adjust.key == "adjust:" + id_text(id_of(9)));
  CHECK(!adjust.change);
  CHECK(!adjust.ended());
  CHECK(fold_chain(adjust, events[2].item).items[0].stock_delta == -4);
  CHECK(begin_chain({&events[3], -1}, ParkReason::no_room, "").key == "sequence:4");
}

TEST_CASE("parked_chain: reasons as text") {
  for (const char* name : {"no_room", "duplicate_live", "bad_id", "foreign_row"}) {
    CHECK(reason_name(*parse_reason(name)) == name);
  }
  CHECK(!parse_reason("else"));
}
