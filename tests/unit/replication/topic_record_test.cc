#include "replication/topic_record.h"

#include "replication/dead_letter.h"
#include "tests/unit/replication/event_tape.h"

#include <boost/json.hpp>

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::test;

namespace {

std::vector<Event> some_events() {
  LogMaker log;
  EventTape tape(log);
  auto& item = log.create("w\xff%", 10);
  log.reserve(item, 1, "42", 2);
  return tape.next();
}

KafkaMessage message_of(const KafkaRecord& record) {
  KafkaMessage message;
  message.key = record.key;
  message.value = record.value;
  message.headers = record.headers;
  return message;
}

boost::json::object object(const char* text) { return boost::json::parse(text).as_object(); }

}  // namespace

TEST_CASE("topic_record: an order and an event say what they are of") {
  const auto events = some_events();
  const KafkaRecordMaker maker(LogId{1}, {{"mine", "yes"}});
  const auto order = read_topic_record(KafkaRole::orders, message_of(maker.order(events.back())));
  REQUIRE(order);
  CHECK(order->item == "w%FF%25");
  CHECK(order->version == ItemVersion(1));
  CHECK(order->sequence == Sequence(3));
  CHECK(order->placed);
  CHECK(!order->replay);
  const auto event = read_topic_record(KafkaRole::events, message_of(maker.event(events[1])));
  REQUIRE(event);
  CHECK(event->sequence == Sequence(2));
  CHECK(event->lsn == events[1].lsn);
  CHECK(!event->placed);
  CHECK(read_topic_record(KafkaRole::events, message_of(maker.event(events[2])))->placed);
}

TEST_CASE("topic_record: what was sent again says so") {
  const auto events = some_events();
  KafkaMessage message = message_of(KafkaRecordMaker(LogId{1}, {}).order(events.back()));
  const auto before = read_topic_record(KafkaRole::orders, message);
  message.headers.push_back({std::string(kReplayHeader), "orders.DLT/0/7"});
  const auto replay = read_topic_record(KafkaRole::orders, message);
  REQUIRE(replay);
  CHECK(replay->replay);
  CHECK(replay->sums == before->sums);
}

TEST_CASE("topic_record: what is no order, or no event, is none") {
  const auto events = some_events();
  const KafkaRecordMaker maker(LogId{1}, {});
  CHECK(!read_topic_record(KafkaRole::events, message_of(maker.order(events.back()))));
  CHECK(!read_topic_record(KafkaRole::orders, message_of(maker.event(events.back()))));
  for (const char* text : {"", "x", "[]", "{}", R"({"item":1,"version":1,"sequence":1})",
                           R"({"item":"a","version":-1,"sequence":1})", R"({"item":"a","version":1,"sequence":0})"}) {
    CAPTURE(text);
    KafkaMessage message;
    message.value = text;
    CHECK(!read_topic_record(KafkaRole::orders, message));
  }
  CHECK(!read_topic_record(KafkaRole::orders, KafkaMessage()));
}

TEST_CASE("topic_record: sums are of what is said, not of how it is written") {
  const auto one = record_sums("k", object(R"({"a":1,"price":5,"b":{"c":[1,2]}})"));
  CHECK(one == record_sums("k", object(R"({ "b": {"c":[1, 2]}, "a": 1, "price": 5 })")));
  const auto dearer = record_sums("k", object(R"({"a":1,"price":6,"b":{"c":[1,2]}})"));
  CHECK(one.rest == dearer.rest);
  CHECK(one.offer != dearer.offer);
  for (const char* text : {R"({"a":2,"price":5,"b":{"c":[1,2]}})", R"({"a":"1","price":5,"b":{"c":[1,2]}})",
                           R"({"price":5,"b":{"c":[1,2]}})", R"({"a":1,"price":5,"b":{"c":[1,2]},"d":null})"}) {
    CAPTURE(text);
    CHECK(one.rest != record_sums("k", object(text)).rest);
  }
  CHECK(one.rest != record_sums("l", object(R"({"a":1,"price":5,"b":{"c":[1,2]}})")).rest);
}

TEST_CASE("topic_record: what is expected is what the relay writes") {
  const auto events = some_events();
  const KafkaRecordMaker maker(LogId{1}, {});
  CHECK(boost::json::serialize(expected_value(KafkaRole::orders, events.back())) == *maker.order(events.back()).value);
  CHECK(boost::json::serialize(expected_value(KafkaRole::events, events[0])) == *maker.event(events[0]).value);
}

TEST_CASE("topic_record: members that differ are named with both values") {
  const auto right = object(R"({"price":500,"userId":7,"quantity":1})");
  CHECK(differing_members(right, right, true).empty());
  const auto found = object(R"({"price":600,"quantity":"1","more":true})");
  CHECK(differing_members(found, right, true) ==
        R"(price 600 instead of 500, userId gone instead of 7, quantity "1" instead of 1, more true added)");
  CHECK(differing_members(object(R"({"price":600,"userId":7,"quantity":1})"), right, false).empty());
}
