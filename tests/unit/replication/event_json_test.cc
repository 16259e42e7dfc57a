#include "replication/event_json.h"

#include "tests/unit/replication/event_tape.h"

#include <boost/json.hpp>

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::test;

namespace {

std::vector<Event> events_of(LogMaker& log) { return EventTape(log).next(); }

std::string line(const Event& event) { return boost::json::serialize(event_to_json(event)); }

}  // namespace

TEST_CASE("event_json: a reservation, with numbers where its names are") {
  LogMaker log;
  ItemDefinition definition;
  definition.price = 995;
  definition.currency = "EUR";
  definition.sale = "spring";
  auto& item = log.create("item:12", 3, definition);
  log.reserve(item, 7, "42", 2);
  log.follow(item, 7, ReservationEvent::release, true);
  const auto events = events_of(log);
  CHECK(line(events[2]) ==
        R"({"lsn":4,"event":"RESERVE","at":1700000000000,"item":"item:12","itemId":12,"version":1,"sequence":3,)"
        R"("orderId":"00000000-0000-0000-0000-000000000007","userId":42,"quantity":2,"price":995,"currency":"EUR",)"
        R"("saleId":"spring","expiresAt":1700000600000,"available":1,"reserved":2,"confirmed":0,"held":0})");
  CHECK(line(events[3]) ==
        R"({"lsn":5,"event":"RELEASE","at":1700000000000,"item":"item:12","itemId":12,"version":1,"sequence":4,)"
        R"("orderId":"00000000-0000-0000-0000-000000000007","userId":42,"quantity":2,"writeOff":true,)"
        R"("available":1,"reserved":0,"confirmed":0,"held":0})");
}

TEST_CASE("event_json: an item; names that are no numbers, bytes that are no text, numbers that JSON would round") {
  LogMaker log;
  auto& item = log.create("shoe \xff", 3);
  log.change(item, ItemEvent::adjust, -1, id_of(9));
  log.reserve(item, 1, "9007199254740993");
  const auto events = events_of(log);
  CHECK(
      line(events[2]) ==
      R"({"lsn":4,"event":"ADJUST","at":1700000000000,"item":"shoe %FF","itemId":"shoe %FF","version":1,"sequence":3,)"
      R"("state":"OPEN","delta":-1,"adjustId":"00000000-0000-0000-0000-000000000009","reason":"counted anew",)"
      R"("limit":1,"ttl":600000,"price":0,"currency":"","saleId":"","productId":"",)"
      R"("available":2,"reserved":0,"confirmed":0,"held":0})");
  CHECK(line(events[3]).find(R"("userId":"9007199254740993")") != std::string::npos);
}

TEST_CASE("event_json: an item comes back as it was") {
  ItemFacts item;
  item.number = ItemNumber(~std::uint64_t{0} >> 1);
  item.name = "a%\"\n\xff";
  item.version = ItemVersion(9'007'199'254'740'993);
  item.state = ItemState::paused;
  item.returns_held = true;
  item.definition.price = kStockMax;
  item.definition.scope = LimitScope::sale;
  item.definition.opens_at = wall_time(17);
  item.definition.sale = "\xc3\xa4";
  const auto text = boost::json::serialize(facts_to_json(item));
  const auto back = facts_from_json(text);
  REQUIRE(back.has_value());
  CHECK(**back == item);
  for (const std::string& broken : {std::string(), std::string("{}"), std::string("[]"), text.substr(1),
                                    R"({"number":1)" + text.substr(text.find(','), 40)}) {
    CHECK_MESSAGE(!facts_from_json(broken), broken);
  }
}

TEST_CASE("event_json: numbers are read as they are written") {
  const auto from = object_in(R"({"one":1,"large":"9007199254740993","less":-1,"word":"x","part":1.5,"zeros":"007"})");
  REQUIRE(from.has_value());
  CHECK(natural_in(*from, "one") == 1);
  CHECK(natural_in(*from, "large") == 9'007'199'254'740'993);
  for (const char* const none : {"less", "word", "part", "zeros", "gone"})
    CHECK_MESSAGE(!natural_in(*from, none), none);
  for (const char* const none : {"", "[1]", "1", "{\"one\":1", "{} x"}) CHECK_MESSAGE(!object_in(none), none);
}
