#include "replication/dead_letter.h"

#include "tests/doctest.h"

using namespace holdfast;

namespace {

const std::string kValue =
    R"({"orderId":"00000000-0000-0000-0000-00000000000a","itemId":12,"userId":42,"quantity":2,"price":995,"currency":"EUR",)"
    R"("saleId":"","item":"item:12","version":3,"sequence":17,"reservedAt":1700000000000})";

KafkaMessage message(std::string value = kValue, std::vector<KafkaHeader> headers = {}) {
  KafkaMessage made;
  made.place = {3, 117};
  made.at = wall_time(1'700'000'000'000);
  made.key = "item:12";
  made.value = std::move(value);
  made.headers = std::move(headers);
  return made;
}

DeadLetter letter(std::string value = kValue, std::vector<KafkaHeader> headers = {}) {
  return read_dead_letter(message(std::move(value), std::move(headers)));
}

std::string bytes(std::initializer_list<int> numbers) {
  std::string made;
  for (const int number : numbers) made += static_cast<char>(number);
  return made;
}

Result<void> take(DeadLetterBook& book, const KafkaRecord& record) {
  return book.take(record.key, record.value ? std::optional<std::string_view>(*record.value) : std::nullopt);
}

}  // namespace

TEST_CASE("dead_letter: the order that a value tells of") {
  const auto order = letter().order;
  REQUIRE(order.has_value());
  CHECK(order->item == "item:12");
  CHECK(order->version == ItemVersion(3));
  CHECK(order->id == *ReservationId::parse("00000000-0000-0000-0000-00000000000a"));
  CHECK(order->user == "42");
  CHECK(order->quantity == 2);
  CHECK(order->sequence == 17);
  const auto named = letter(
      R"({"orderId":"00000000-0000-0000-0000-00000000000a","userId":"a%FF","item":"shoe %FF","version":"9007199254740993"})");
  REQUIRE(named.order.has_value());
  CHECK(named.order->item == "shoe \xff");
  CHECK(named.order->version == ItemVersion(9'007'199'254'740'993));
  CHECK(named.order->user == "a%FF");
}

TEST_CASE("dead_letter: a value that tells of no order is a dead letter all the same") {
  for (const char* const value :
       {"", "{", "[]", "{}", R"({"orderId":"x","item":"item:12","version":3})",
        R"({"orderId":"00000000-0000-0000-0000-00000000000a","item":"item:12"})",
        R"({"orderId":"00000000-0000-0000-0000-00000000000a","item":"a%2","version":3})",
        R"({"orderId":"00000000-0000-0000-0000-00000000000a","item":12,"version":3})",
        R"({"orderId":"00000000-0000-0000-0000-00000000000a","item":"","version":3})",
        R"({"orderId":"00000000-0000-0000-0000-00000000000a","item":"item:12","version":-3})"}) {
    CAPTURE(value);
    CHECK_FALSE(letter(value).order.has_value());
  }
  KafkaMessage none = message();
  none.value.reset();
  CHECK_FALSE(read_dead_letter(std::move(none)).order.has_value());
}

TEST_CASE("dead_letter: why and from where, as consumers say it") {
  const auto spring = letter(kValue, {{"kafka_dlt-original-partition", bytes({0, 0, 1, 2})},
                                      {"kafka_dlt-original-offset", bytes({0, 0, 0, 0, 0, 0, 0, 9})},
                                      {"kafka_dlt-exception-fqcn", "shop.NoSuchUser"},
                                      {"kafka_dlt-exception-message", "user 42\n"},
                                      {"ce_source", "urn:holdfast:00000000000000000000000000000102"}});
  CHECK(spring.reason == "shop.NoSuchUser: user 42%0A");
  CHECK(spring.origin == "258/9");
  CHECK(spring.log == LogId{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2});
  const auto connect = letter(kValue, {{"__connect.errors.partition", "2"},
                                       {"__connect.errors.offset", "77"},
                                       {"__connect.errors.exception.message", "no"}});
  CHECK(connect.reason == "no");
  CHECK(connect.origin == "2/77");
  CHECK(letter(kValue, {{"error", "plain"}}).reason == "plain");
  const auto silent = letter(kValue, {{"kafka_dlt-original-partition", "12"}, {"ce_source", "elsewhere"}});
  CHECK((silent.reason + silent.origin).empty());
  CHECK_FALSE(silent.log.has_value());
  // Nothing that begins like a log's id is taken for one.
  CHECK_FALSE(letter(kValue, {{"ce_source", "urn:holdfast:0102"}}).log.has_value());
}

TEST_CASE("dead_letter: what is sent again is the record as it was, without its refusal") {
  const auto refused = letter(kValue, {{"ce_id", "item:12/3/17/order"},
                                       {"kafka_dlt-exception-message", "no"},
                                       {"retry_topic-attempts", "3"},
                                       {"x", "1"},
                                       {"x", "2"},
                                       {"kafka_original-topic", "orders"},
                                       {"kafka_exception-message", "no"},
                                       {"__connect.errors.topic", "orders"},
                                       {"holdfast_replay", "orders.DLT/3/5"}});
  const KafkaRecord record = replay_record("orders", refused);
  CHECK(record.key == "item:12");
  CHECK(record.value == kValue);
  CHECK(record.headers ==
        std::vector<KafkaHeader>{
            {"ce_id", "item:12/3/17/order"}, {"x", "1"}, {"x", "2"}, {"holdfast_replay", "orders.DLT/3/117"}});
}

TEST_CASE("dead_letter: a mark holds for its record, and for no other that has its place") {
  DeadLetterBook book("orders");
  CHECK(book.of(letter()).state == DeadLetterState::waiting);
  const KafkaRecord mark = mark_record("orders", letter(), {DeadLetterState::replayed, wall_time(1'700'000'000'001)});
  CHECK(mark.role == KafkaRole::cursor);
  CHECK(mark.key == "dlt/orders.DLT/3/117");
  REQUIRE(take(book, mark).has_value());
  CHECK(book.of(letter()).state == DeadLetterState::replayed);
  CHECK(to_ms(book.of(letter()).at) == 1'700'000'000'001);
  KafkaMessage other = message();
  other.place.offset = 118;
  CHECK(book.of(read_dead_letter(std::move(other))).state == DeadLetterState::waiting);
  for (int changed = 0; changed < 4; ++changed) {
    KafkaMessage anew = message();
    if (changed == 0) anew.at += Millis(1);
    if (changed == 1) anew.key += '2';
    if (changed == 2) anew.value->back() = ' ';
    if (changed == 3) anew.value.reset();
    CHECK(book.of(read_dead_letter(std::move(anew))).state == DeadLetterState::waiting);
  }
  REQUIRE(take(book, mark_record("orders", letter(), {DeadLetterState::cancelled, {}})).has_value());
  CHECK(book.of(letter()).state == DeadLetterState::cancelled);
}

TEST_CASE("dead_letter: other keys are not the book's, and what nothing here wrote is damaged") {
  DeadLetterBook book("orders");
  for (const char* const key : {"cursor/kafka/00", "item/kafka/a", "dlt/other.DLT/0/1", "dlt/orders/0/1"})
    CHECK(book.take(key, "nonsense").has_value());
  for (const char* const key : {"dlt/orders.DLT/", "dlt/orders.DLT/1", "dlt/orders.DLT/1/x", "dlt/orders.DLT/-1/1"})
    CHECK(book.take(key, R"({"state":"replayed","at":1,"record":""})").error().code() == ErrorCode::damaged);
  for (const char* const value : {"", "[]", "{}", R"({"state":"waiting","at":1,"record":""})",
                                  R"({"state":"replayed","at":"1","record":""})", R"({"state":"replayed","at":1})"})
    CHECK(book.take("dlt/orders.DLT/0/1", value).error().code() == ErrorCode::damaged);
}

TEST_CASE("dead_letter: marks of records that the topic does not keep any more are forgotten") {
  DeadLetterBook book("orders");
  for (const KafkaPlace place : {KafkaPlace{0, 5}, {1, 3}, {1, 4}, {1, 9}, {2, 0}}) {
    KafkaMessage each = message();
    each.place = place;
    REQUIRE(take(book, mark_record("orders", read_dead_letter(std::move(each)), {DeadLetterState::replayed, {}}))
                .has_value());
  }
  const auto ends = book.ends_before({1, 9});
  REQUIRE(ends.size() == 2);
  CHECK(ends[0].key == "dlt/orders.DLT/1/3");
  CHECK(ends[1].key == "dlt/orders.DLT/1/4");
  CHECK_FALSE(ends[0].value.has_value());
  for (const KafkaRecord& each : ends) REQUIRE(take(book, each).has_value());
  CHECK(book.ends_before({1, 9}).empty());
  CHECK(book.ends_before({1, 10}).size() == 1);
}

TEST_CASE("dead_letter: places as people write them") {
  CHECK(place_text({3, 117}) == "3/117");
  CHECK(*parse_place("3/117") == KafkaPlace{3, 117});
  for (const char* const text : {"", "3", "3/", "/3", "3/-1", "3/1/2", "2147483648/1", "3/9223372036854775808", "03/1"})
    CHECK(parse_place(text).error().code() == ErrorCode::bad_option);
}
