#include "replication/kafka_record.h"

#include "replication/batch_decoder.h"
#include "tests/unit/replication/log_maker.h"

#include <boost/json.hpp>

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::test;

namespace {

EventBatch events_of(LogMaker& log) {
  BatchDecoder decoder({log.log, Lsn(), Epoch(1)}, {});
  decoder.feed(log.batch());
  auto batch = decoder.next(1000);
  REQUIRE(batch.has_value());
  return std::move(*batch);
}

std::string header(const KafkaRecord& record, std::string_view name) {
  for (const KafkaHeader& each : record.headers) {
    if (each.name == name) return each.value;
  }
  return "";
}

/// A sink's cursor topic after these records.
KafkaCursorBook book_of(const std::vector<KafkaRecord>& records, const std::string& sink = "kafka") {
  KafkaCursorBook book(sink);
  for (const KafkaRecord& each : records) {
    const auto value = each.value ? std::optional<std::string_view>(*each.value) : std::nullopt;
    REQUIRE(book.take(each.key, value).has_value());
  }
  return book;
}

const KafkaCursor kCursor{
    {LogId{1, 2}, Lsn(4711), Epoch(3)}, "owner", {{"flash-sale-events", {5, 0, 9}}, {"o", {}}}, {}, {}};

}  // namespace

TEST_CASE("kafka_record: an order says who has how much of what, and only of a RESERVE") {
  LogMaker log;
  ItemDefinition definition;
  definition.price = 995;
  definition.currency = "EUR";
  definition.sale = "77";
  auto& item = log.create("item:1001", 10, definition);
  log.reserve(item, 1, "42", 2);
  const auto batch = events_of(log);
  const KafkaRecord order = KafkaRecordMaker(log.log, {{"__TypeId__", "shop.Order"}}).order(batch.events.back());
  CHECK(order.role == KafkaRole::orders);
  CHECK(order.key == "item:1001");
  const auto value = boost::json::parse(*order.value).as_object();
  CHECK(value.at("orderId").as_string() == "00000000-0000-0000-0000-000000000001");
  CHECK(value.at("itemId").as_int64() == 1001);
  CHECK(value.at("userId").as_int64() == 42);
  CHECK(value.at("quantity").as_int64() == 2);
  CHECK(value.at("price").as_int64() == 995);
  CHECK(value.at("currency").as_string() == "EUR");
  CHECK(value.at("saleId").as_string() == "77");
  CHECK(value.at("item").as_string() == "item:1001");
  CHECK(value.at("version").as_int64() == 1);
  CHECK(value.at("sequence").as_int64() == 3);
  CHECK(value.at("expiresAt").as_int64() - value.at("reservedAt").as_int64() == 600'000);
  CHECK(header(order, "ce_specversion") == "1.0");
  CHECK(header(order, "ce_id") == "item:1001/1/3/order");
  CHECK(header(order, "ce_source") == "urn:holdfast:" + log_id_text(log.log));
  CHECK(header(order, "ce_type") == "holdfast.order");
  CHECK(header(order, "ce_time").size() == std::string("2023-11-14T22:13:20.000Z").size());
  CHECK(header(order, "content-type") == "application/json");
  CHECK(header(order, "__TypeId__") == "shop.Order");
}

TEST_CASE("kafka_record: an event is a record with the item's raw name as its key") {
  LogMaker log;
  auto& item = log.create("w\xff%", 10);
  log.reserve(item, 1, "bob");
  log.follow(item, 1, ReservationEvent::confirm);
  const auto batch = events_of(log);
  REQUIRE(batch.events.size() == 4);
  const KafkaRecordMaker maker(log.log, {});
  const std::vector<std::string> types = {"holdfast.load", "holdfast.open", "holdfast.reserve", "holdfast.confirm"};
  for (std::size_t i = 0; i < types.size(); ++i) {
    const KafkaRecord record = maker.event(batch.events[i]);
    CHECK(record.role == KafkaRole::events);
    CHECK(record.key == "w\xff%");
    CHECK(header(record, "ce_type") == types[i]);
    CHECK(header(record, "ce_id") == "w%FF%25/1/" + std::to_string(i + 1));
    CHECK(header(record, "ce_subject") == "w%FF%25");
    CHECK(boost::json::parse(*record.value).at("sequence").as_int64() == static_cast<std::int64_t>(i + 1));
  }
}

TEST_CASE("kafka_record: a cursor and items are read back as they were written") {
  LogMaker log;
  auto& first = log.create("item:1", 10);
  auto& second = log.create("b\xff", 20);
  first.state = ItemState::paused;
  log.change(first, ItemEvent::pause);
  auto records = item_records("kafka", events_of(log).events);
  CHECK(records.size() == 2);  // one an item, however often it changed
  records.push_back(cursor_record("kafka", kCursor));
  const auto book = book_of(records);
  CHECK(book.cursor() == kCursor);
  const SinkItems items = book.items();
  CHECK(items.size() == 2);
  REQUIRE(items.find(first.number) != nullptr);
  CHECK(items.find(first.number)->state == ItemState::paused);
  CHECK(items.find(second.number)->name == "b\xff");
  CHECK(book.item_names().size() == 2);
}

TEST_CASE("kafka_record: the newest cursor holds, of whichever log, and other sinks' records are theirs") {
  KafkaCursor later = kCursor;
  later.cursor.lsn = Lsn(5000);
  KafkaCursor adopted = kCursor;
  adopted.cursor.log = LogId{9};
  CHECK(book_of({cursor_record("kafka", kCursor), cursor_record("kafka", later)}).cursor() == later);
  CHECK(
      book_of({cursor_record("kafka", later), cursor_end("kafka", kCursor.cursor.log), cursor_record("kafka", adopted)})
          .cursor() == adopted);
  CHECK(book_of({cursor_record("kafka", adopted), cursor_end("kafka", kCursor.cursor.log)}).cursor() == adopted);
  CHECK_FALSE(book_of({cursor_record("kafka", kCursor), cursor_end("kafka", kCursor.cursor.log)}).cursor());
  CHECK_FALSE(book_of({cursor_record("kafka2", kCursor)}).cursor());
  KafkaCursor begun = kCursor;
  begun.begins = Lsn(4000);
  begun.before = {{"flash-sale-events", {4, 0, 1}}};
  CHECK(book_of({cursor_record("kafka", begun)}).cursor() == begun);
  CHECK_FALSE(book_of({cursor_record("kafka", kCursor)}, "kafka2").cursor());
  CHECK_FALSE(book_of({}).cursor());
}

TEST_CASE("kafka_record: an item that was dropped is forgotten") {
  LogMaker log;
  auto& item = log.create("item:1", 10);
  auto records = item_records("kafka", events_of(log).events);
  CHECK(book_of(records).items().size() == 1);
  log.change(item, ItemEvent::close);
  log.change(item, ItemEvent::drop);
  BatchDecoder decoder({log.log, Lsn(log.next_lsn().value() - 1), Epoch(1)}, book_of(records).items());
  decoder.feed(log.batch());
  const auto batch = decoder.next(1000);
  REQUIRE(batch.has_value());
  for (KafkaRecord& each : item_records("kafka", batch->events)) records.push_back(std::move(each));
  CHECK_FALSE(records.back().value.has_value());
  CHECK(book_of(records).items().size() == 0);
}

TEST_CASE("kafka_record: what nothing here wrote is damaged") {
  const KafkaRecord cursor = cursor_record("kafka", kCursor);
  for (const std::string& broken :
       {std::string("{}"), std::string("[]"), std::string("x"), cursor.value->substr(1),
        std::string(R"({"log":"0102","lsn":1,"epoch":1,"owner":"","topics":{}})"),
        std::string(R"({"log":"01020000000000000000000000000000","lsn":-1,"epoch":1,"owner":"","topics":{}})"),
        std::string(R"({"log":"01020000000000000000000000000000","lsn":1,"epoch":1,"owner":"","topics":{"a":[""]}})"),
        std::string(
            R"({"log":"01020000000000000000000000000000","lsn":1,"epoch":1,"owner":"","topics":{},"before":{}})")}) {
    KafkaCursorBook book("kafka");
    const auto taken = book.take(cursor.key, broken);
    REQUIRE_MESSAGE(!taken, broken);
    CHECK(taken.error().code() == ErrorCode::damaged);
  }
  KafkaCursorBook book("kafka");
  CHECK_FALSE(book.take("item/kafka/item:1", "{}").has_value());
  CHECK(book.take("anything", "else").has_value());
}
