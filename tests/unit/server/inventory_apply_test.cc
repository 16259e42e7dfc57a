// What records say, and what the inventory refuses when they do not fit.
#include "tests/unit/server/step_bench.h"

#include <fmt/format.h>

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::testing;

namespace {

std::string id_text(std::uint64_t number) { return fmt::format("00000000-0000-4000-8000-{:012}", number); }

Item& item(Inventory& inventory, std::string_view name) { return *InventoryAccess::item(inventory, name); }

}  // namespace

TEST_CASE("records: a RESERVE is exclusive where the limit is 1 and the scope is the item") {
  StepBench bench;
  const auto exclusive = [&](const std::string& name, const std::string& options) {
    bench.run("ITEM CREATE " + name + " STOCK 5 " + options);
    bench.run("RESERVE " + name + " u");
    return bench.tape().record<ReservationRecord>(bench.tape().size() - 1).exclusive;
  };
  CHECK(exclusive("a", ""));
  CHECK(!exclusive("b", "LIMIT 2"));
  CHECK(!exclusive("c", "LIMIT 0"));
  CHECK(!exclusive("{s}d", "SCOPE sale"));
  bench.run("ITEM SET b LIMIT 1 EXPECT 2");
  bench.run("RESERVE b v");
  CHECK(bench.tape().record<ReservationRecord>(bench.tape().size() - 1).exclusive);
}

TEST_CASE("records: a RESUME is exclusive by the limit of its own time") {
  StepBench bench;
  bench.run("ITEM CREATE a STOCK 5 LIMIT 1");
  bench.run("RESERVE a u ID 00000000-0000-4000-8000-000000000001 TTL 1000");
  bench.pass(Millis(2000));
  bench.run("RESERVE a u ID 00000000-0000-4000-8000-000000000002");
  bench.run("ITEM SET a LIMIT 2 EXPECT 1");
  bench.run("CONFIRM a u ID 00000000-0000-4000-8000-000000000001 RESUME");
  const auto& record = bench.tape().record<ReservationRecord>(bench.tape().size() - 1);
  CHECK(record.event == ReservationEvent::resume);
  CHECK(!record.exclusive);
}

TEST_CASE("records: a transition by its window says so, one by command does not") {
  StepBench bench;
  bench.run(fmt::format("ITEM CREATE a STOCK 5 OPENS-AT {}", to_ms(bench.now().wall) + 10));
  bench.pass(Millis(10));
  bench.run("ITEM GET a");
  CHECK(bench.tape().record<ItemRecord>(2).event == ItemEvent::open);
  CHECK(bench.tape().record<ItemRecord>(2).by_window);
  CHECK(bench.tape().entry(2).stamp.wall == bench.now().wall);
  bench.run("ITEM PAUSE a");
  bench.run("ITEM OPEN a");
  CHECK(!bench.tape().record<ItemRecord>(4).by_window);
}

TEST_CASE("item numbers: new for each version, above all that were ever given") {
  StepBench bench;
  bench.run("ITEM CREATE a STOCK 5");
  bench.run("ITEM CREATE b STOCK 5");
  bench.run("ITEM DROP b");
  bench.run("ITEM CREATE b STOCK 5");
  CHECK(item(bench.inventory(), "b").number == ItemNumber(3));
  bench.run("ITEM CLOSE a");
  bench.run("SET {a}:stock 7");
  CHECK(item(bench.inventory(), "a").number == ItemNumber(4));
  bench.run("ITEM DROP a");
  bench.restart();
  CHECK(bench.inventory().item_number_max() == ItemNumber(4));
  bench.run("ITEM CREATE a STOCK 5");
  CHECK(item(bench.inventory(), "a").number == ItemNumber(5));
}

TEST_CASE("recovery: records that do not fit are refused, named, and change nothing") {
  StepBench bench;
  bench.run("ITEM CREATE a STOCK 5 LIMIT 0");
  bench.run("RESERVE a u ID " + id_text(1));
  bench.run("RESERVE a v QTY 2 ID " + id_text(2));
  bench.run("CONFIRM a u");
  bench.run("EXTEND a v TTL 700000");
  bench.run("RELEASE a v");
  bench.run("ITEM ADJUST a 3 REASON x ID " + id_text(3));
  bench.run("ITEM RETURNS a HOLD");
  bench.run("REFUND a u ID " + id_text(1));
  bench.run("ITEM RETURNS a FREE");
  bench.run("ITEM CLOSE a");
  bench.run("SET {a}:stock 3");
  const RecordTape& tape = bench.tape();
  for (std::size_t i = 0; i < tape.size(); ++i) {
    CAPTURE(i);
    RecordTape nothing;
    Inventory reader({}, nothing);
    for (std::size_t k = 0; k < i; ++k) REQUIRE(tape.play_one(k, reader).has_value());
    const StateHash before = reader.seal();
    // The record after it, instead of it.
    if (i + 1 < tape.size() && i != 0) CHECK(!tape.play_one(i + 1, reader).has_value());
    CHECK(reader.seal() == before);
    REQUIRE(tape.play_one(i, reader).has_value());
    const StateHash after = reader.seal();
    // The same once more.
    const auto again = tape.play_one(i, reader);
    REQUIRE(!again.has_value());
    CHECK(again.error().code() == ErrorCode::damaged);
    CHECK(reader.seal() == after);
  }
}

TEST_CASE("recovery: a change of a reservation must be what its state, user, quantity and counters allow") {
  StepBench bench;
  bench.run("ITEM CREATE a STOCK 5 LIMIT 0");
  bench.run("RESERVE a u QTY 2 ID " + id_text(1));
  bench.run("CONFIRM a u");
  const RecordTape& tape = bench.tape();
  const RecordStamp stamp = tape.entry(4).stamp;
  const auto refused = [&](const auto& change) {
    RecordTape nothing;
    Inventory reader({}, nothing);
    for (std::size_t k = 0; k < 4; ++k) REQUIRE(tape.play_one(k, reader).has_value());
    ReservationRecord record = tape.record<ReservationRecord>(4);
    RecordStamp changed_stamp = stamp;
    change(record, changed_stamp);
    const StateHash before = reader.seal();
    return !reader.on_reservation(changed_stamp, record) && reader.seal() == before;
  };
  using R = ReservationRecord;
  using S = RecordStamp;
  CHECK(!refused([](R&, S&) {}));
  CHECK(refused([](R& r, S&) { r.event = ReservationEvent::refund; }));
  CHECK(refused([](R& r, S&) { r.event = ReservationEvent::reserve; }));
  CHECK(refused([](R& r, S&) { r.event = ReservationEvent::resume; }));
  CHECK(refused([](R& r, S&) { r.event = ReservationEvent::extend; }));
  CHECK(refused([](R& r, S&) { r.user = UserId::from_number(7); }));
  CHECK(refused([](R& r, S&) { r.quantity = Quantity(1); }));
  CHECK(refused([](R& r, S&) { r.id = ReservationId(); }));
  CHECK(refused([](R& r, S&) { r.after.available += 1; }));
  CHECK(refused([](R& r, S&) { r.write_off = true; }));
  CHECK(refused([](R& r, S&) { r.deadline = hold_time(5'000'000); }));
  CHECK(refused([](R&, S& s) { s.item = ItemNumber(2); }));
  CHECK(refused([](R&, S& s) { s.sequence = Sequence(4); }));
  CHECK(refused([](R&, S& s) { s.sequence = Sequence(6); }));
  CHECK(refused([](R&, S& s) { s.hold = hold_time(0); }));
}

TEST_CASE("recovery: a LOAD must be the first of a new version, and a FORGET must find what it says") {
  Inventory::Settings settings;
  settings.ended_max = 1;
  StepBench bench(settings);
  bench.run("ITEM CREATE a STOCK 5");
  for (int i = 0; i < 3; ++i) {
    bench.run("RESERVE a u");
    bench.run("RELEASE a u");
  }
  bench.sweep();
  const RecordTape& tape = bench.tape();
  const std::size_t last = tape.size() - 1;
  const auto reader_at = [&](std::size_t records, RecordTape& nothing) {
    auto reader = std::make_unique<Inventory>(settings, nothing);
    for (std::size_t k = 0; k < records; ++k) REQUIRE(tape.play_one(k, *reader).has_value());
    return reader;
  };
  RecordTape nothing;
  const ForgetRecord forget = tape.record<ForgetRecord>(last);
  REQUIRE(forget.count == 2);
  for (const ForgetRecord wrong :
       {ForgetRecord{forget.through, 1}, ForgetRecord{forget.through, 3}, ForgetRecord{Sequence(1), 2}}) {
    CHECK(!reader_at(last, nothing)->on_forget(tape.entry(last).stamp, wrong).has_value());
  }
  CHECK(reader_at(last, nothing)->on_forget(tape.entry(last).stamp, forget).has_value());

  const auto load_refused = [&](std::size_t records, const auto& change) {
    RecordStamp stamp = tape.entry(0).stamp;
    ItemRecord record = tape.record<ItemRecord>(0);
    change(stamp, record);
    return !reader_at(records, nothing)->on_item(stamp, record);
  };
  CHECK(!load_refused(0, [](RecordStamp&, ItemRecord&) {}));
  CHECK(load_refused(0, [](RecordStamp& stamp, ItemRecord&) { stamp.sequence = Sequence(2); }));
  CHECK(load_refused(0, [](RecordStamp& stamp, ItemRecord&) { stamp.item = ItemNumber(); }));
  CHECK(load_refused(0, [](RecordStamp&, ItemRecord& record) { record.after.available = 4; }));
  CHECK(load_refused(0, [](RecordStamp&, ItemRecord& record) { record.definition.scope = LimitScope::sale; }));
  CHECK(load_refused(1, [](RecordStamp&, ItemRecord& record) { record.version = ItemVersion(2); }));
  CHECK(load_refused(1, [](RecordStamp& stamp, ItemRecord& record) {
    stamp.item = ItemNumber(2);
    record.version = ItemVersion(2);
  }));
}
