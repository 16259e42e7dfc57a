// What the inventory promises beyond replies: groups and the gate, time, forgetting, memory, and what it refuses when
// records do not fit.
#include "tests/unit/server/step_bench.h"

#include <fmt/format.h>

#include <map>

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::testing;

namespace {

constexpr GroupOrdinal kAtOnce{};

std::string id_text(std::uint64_t number) { return fmt::format("00000000-0000-4000-8000-{:012}", number); }

Item& item(Inventory& inventory, std::string_view name) { return *InventoryAccess::item(inventory, name); }

/// The reply's group after a command.
GroupOrdinal rests_on(StepBench& bench, std::string_view line) {
  bench.run(line);
  return bench.last_result().rests_on;
}

}  // namespace

TEST_CASE("gate: a reply rests on the group of its item's last change until that is durable") {
  StepBench bench;
  CHECK(rests_on(bench, "ITEM GET a") == kAtOnce);
  bench.open_group();
  CHECK(rests_on(bench, "ITEM CREATE a STOCK 2") == GroupOrdinal(1));
  CHECK(rests_on(bench, "ITEM CREATE b STOCK 2") == GroupOrdinal(1));
  CHECK(rests_on(bench, "RESERVE none u") == GroupOrdinal(1));
  bench.make_durable();
  for (const char* read : {"ITEM GET a", "RESERVE none u", "ITEM LIST", "GET {a}:stock", "EXISTS {a}:stock",
                           "RESERVATION LIST a", "ITEM VERIFY *"}) {
    CAPTURE(read);
    CHECK(rests_on(bench, read) == kAtOnce);
  }
  bench.open_group();
  CHECK(rests_on(bench, "RESERVE a u") == GroupOrdinal(2));
  // Reads, refusals and replays of the item wait with it; those of other items do not, what is about all items does.
  for (const char* waits : {"RESERVE a u", "ITEM GET a", "CONFIRM a nobody", "GET {a}:stock", "SISMEMBER {a}:buyers u",
                            "RESERVATION LIST a", "SCARD {a}:buyers", "ITEM VERIFY a", "EXTEND a u TTL 1"}) {
    CAPTURE(waits);
    CHECK(rests_on(bench, waits) == GroupOrdinal(2));
  }
  for (const char* waits :
       {"ITEM LIST", "RESERVE none u", "GET {none}:stock", "ITEM VERIFY *", "ITEM DROP none", "EXISTS {none}:stock"}) {
    CAPTURE(waits);
    CHECK(rests_on(bench, waits) == GroupOrdinal(2));
  }
  CHECK(rests_on(bench, "ITEM GET b") == kAtOnce);
  CHECK(rests_on(bench, "GET {b}:stock") == kAtOnce);
  CHECK(rests_on(bench, "TYPE {b}:stock") == kAtOnce);
  bench.make_durable();
  CHECK(rests_on(bench, "ITEM GET a") == kAtOnce);
}

TEST_CASE("gate: a RESERVE of a sale rests on all items of the sale") {
  StepBench bench;
  bench.open_group();
  bench.run("ITEM CREATE {s}a STOCK 2 SCOPE sale");
  bench.run("ITEM CREATE {s}b STOCK 2 SCOPE sale");
  bench.make_durable();
  bench.open_group();
  bench.run("RESERVE {s}a u");
  CHECK(rests_on(bench, "RESERVE {s}b u") == GroupOrdinal(2));
  CHECK(rests_on(bench, "ITEM GET {s}b") == kAtOnce);
  bench.make_durable();
  CHECK(rests_on(bench, "RESERVE {s}b u") == kAtOnce);
}

TEST_CASE("gate: a dropped item, and housekeeping, hold back what is about all items") {
  StepBench bench;
  bench.open_group();
  bench.run("ITEM CREATE a STOCK 2");
  bench.make_durable();
  bench.open_group();
  CHECK(rests_on(bench, "ITEM DROP a") == GroupOrdinal(2));
  CHECK(rests_on(bench, "ITEM GET a") == GroupOrdinal(2));
  bench.make_durable();
  CHECK(rests_on(bench, "ITEM GET a") == kAtOnce);
  bench.open_group();
  CHECK(rests_on(bench, "ITEM RETURNS * HOLD") == GroupOrdinal(3));
}

TEST_CASE("groups: rows get the LSN of their last change once it is durable, as the replica has it from the log") {
  StepBench bench;
  bench.run("ITEM CREATE a STOCK 100 LIMIT 0");
  for (std::uint64_t group = 0; group < 6; ++group) {
    bench.open_group();
    for (std::uint64_t i = 0; i < 8; ++i)
      bench.run(fmt::format("RESERVE a u{} ID {}", i, id_text(100 * group + i + 1)));
    bench.run("CONFIRM a u1 ID " + id_text(100 * group + 2));
    bench.run("REFUND a u1 ID " + id_text(100 * group + 2));
    if (group > 0) bench.run("RELEASE a u3 ID " + id_text(100 * group - 96));
    bench.make_durable();
  }
  const ItemRows& live = *item(bench.inventory(), "a").rows;
  const ItemRows& replica = *item(bench.replica(), "a").rows;
  REQUIRE(live.slots_end() == 48);
  for (std::uint32_t slot = 0; slot < live.slots_end(); ++slot) {
    CAPTURE(slot);
    CHECK(live.row(RowSlot(slot)).lsn() == replica.row(RowSlot(slot)).lsn());
    CHECK(live.row(RowSlot(slot)).lsn() != Lsn());
  }
}

TEST_CASE("groups: a slot that was forgotten and used again in one group belongs to its last row") {
  Inventory::Settings settings;
  settings.ended_max = 0;
  StepBench bench(settings);
  bench.run("ITEM CREATE a STOCK 100 LIMIT 0");
  bench.open_group();
  bench.run("RESERVE a u");
  bench.run("RELEASE a u");
  bench.sweep();
  bench.run("RESERVE a v");
  bench.run("ITEM CREATE b STOCK 5");
  bench.run("RESERVE b v");
  bench.run("ITEM DROP b CONFIRMED-TOO");
  bench.make_durable();
  const ItemRows& live = *item(bench.inventory(), "a").rows;
  REQUIRE(live.slots_end() == 1);
  CHECK(live.row(RowSlot(0)).lsn() == item(bench.replica(), "a").rows->row(RowSlot(0)).lsn());
}

TEST_CASE("groups: changes of an item that is gone by then are passed over") {
  StepBench bench;
  bench.open_group();
  bench.run("ITEM CREATE a STOCK 5");
  bench.run("RESERVE a u");
  bench.run("CONFIRM a u");
  bench.run("ITEM DROP a CONFIRMED-TOO");
  bench.run("ITEM CREATE other STOCK 5");
  bench.make_durable();
  CHECK(bench.run("ITEM GET other").at("available").number == 5);
}

TEST_CASE("time: the next due moment is told, deadline or window, on the hold clock") {
  StepBench bench;
  const auto next = [&] { return bench.inventory().next_due(bench.now()) - bench.now().hold; };
  CHECK(bench.inventory().next_due(bench.now()) == HoldTime::max());
  bench.run("ITEM CREATE a STOCK 5 TTL 7000");
  CHECK(bench.inventory().next_due(bench.now()) == HoldTime::max());
  bench.run("RESERVE a u");
  CHECK(next() == Millis(7000));
  bench.run("RESERVE a v TTL 3000");
  CHECK(next() == Millis(3000));
  const auto wall = to_ms(bench.now().wall);
  bench.run(fmt::format("ITEM CREATE b STOCK 5 OPENS-AT {}", wall + 2000));
  CHECK(next() == Millis(2000));
  bench.step_wall(Millis(1500));  // the wall clock is set: the window is nearer, the deadline is not
  CHECK(next() == Millis(500));
  bench.step_wall(-std::chrono::hours(1));
  CHECK(next() == Millis(3000));
  bench.pass(Millis(3000));
  CHECK(bench.sweep() == 1);
  CHECK(next() == Millis(4000));
}

TEST_CASE("time: a sweep makes at most 2,000 changes and says whether more is due") {
  StepBench bench;
  bench.run("ITEM CREATE a STOCK 5000 TTL 10");
  bench.run("ITEM CREATE b STOCK 5000 TTL 10");
  for (int i = 0; i < 1500; ++i) {
    bench.run(fmt::format("RESERVE a {}", i));
    bench.run(fmt::format("RESERVE b {}", i));
  }
  bench.pass(Millis(10));
  const std::size_t before = bench.tape().size();
  CHECK(bench.inventory().sweep(bench.now()));
  CHECK(bench.tape().size() == before + 2000);
  CHECK(!bench.inventory().sweep(bench.now()));
  CHECK(bench.tape().size() == before + 3000);
  CHECK(bench.sweep() == 1);
  bench.compare_all();
}

TEST_CASE("time: what is swept is in the order of deadlines") {
  StepBench bench;
  bench.run("ITEM CREATE a STOCK 5000 LIMIT 0");
  for (int i = 0; i < 700; ++i) bench.run(fmt::format("RESERVE a u TTL {}", 1 + i * 7919 % 1009));
  bench.pass(Millis(2000));
  const std::size_t before = bench.tape().size();
  std::map<std::string, HoldTime> deadlines;
  for (std::size_t i = 3; i < before; ++i) {
    const auto& record = bench.tape().record<ReservationRecord>(i);
    const auto text = record.id.text();
    deadlines[{text.data(), text.size()}] = *record.deadline;
  }
  bench.sweep();
  HoldTime last{};
  for (std::size_t i = before; i < bench.tape().size(); ++i) {
    const auto text = bench.tape().record<ReservationRecord>(i).id.text();
    const HoldTime deadline = deadlines.at({text.data(), text.size()});
    REQUIRE(last <= deadline);
    last = deadline;
  }
}

TEST_CASE(
    "forgetting: commands forget by themselves once 1,024 more than ended-max have ended, at most 1,024 a record") {
  Inventory::Settings settings;
  settings.ended_max = 10;
  StepBench bench(settings);
  bench.run("ITEM CREATE a STOCK 5");
  std::uint64_t rows_max = 0;
  for (int i = 0; i < 3000; ++i) {
    bench.run("RESERVE a u");
    bench.run("RELEASE a u");
    rows_max = std::max(rows_max, item(bench.inventory(), "a").rows->row_count());
  }
  CHECK(rows_max <= 10 + Inventory::kForgetMax + 1);
  int forgets = 0;
  for (std::size_t i = 0; i < bench.tape().size(); ++i) {
    const auto* forget = std::get_if<ForgetRecord>(&bench.tape().entry(i).record);
    if (forget == nullptr) continue;
    ++forgets;
    CHECK(forget->count >= 1);
    CHECK(forget->count <= Inventory::kForgetMax);
    CHECK(bench.tape().entry(i).stamp.sequence == Sequence());
  }
  CHECK(forgets == 2);
  CHECK(bench.run("ITEM GET a").at("sequence").number == 3 + 6000);
  bench.sweep();
  CHECK(item(bench.inventory(), "a").rows->row_count() == 10);
  bench.compare_all();
}

TEST_CASE("forgetting: with ended-max 0 the one that a command speaks of stays until the sweep") {
  Inventory::Settings settings;
  settings.ended_max = 0;
  StepBench bench(settings);
  bench.run("ITEM CREATE a STOCK 5 TTL 10 LIMIT 0");
  for (std::uint64_t i = 0; i < 1500; ++i) {
    bench.run("RESERVE a u ID " + id_text(i));
    bench.pass(Millis(10));
    REQUIRE(bench.ask("RESERVE a u DETAILS ID " + id_text(i)).find("EXPIRED") != std::string::npos);
  }
  bench.sweep();
  CHECK(item(bench.inventory(), "a").rows->row_count() == 0);
}

TEST_CASE("forgetting: the default is 4 x total, at least 100,000") {
  StepBench bench;
  bench.run("ITEM CREATE a STOCK 5");
  for (int i = 0; i < 2000; ++i) {
    bench.run("RESERVE a u");
    bench.run("RELEASE a u");
  }
  bench.sweep();
  CHECK(item(bench.inventory(), "a").rows->row_count() == 2000);
}

TEST_CASE("ids: the server's own are the same for the same commands under one secret, and others under another") {
  const auto made = [](std::uint8_t secret) {
    Inventory::Settings settings;
    settings.secret.fill(secret);
    StepBench bench(settings);
    bench.run("ITEM CREATE a STOCK 5");
    bench.run("RESERVE a u");
    bench.pass(Millis(3));
    return bench.run("RESERVE a v DETAILS").at("id").text;
  };
  CHECK(made(1) == made(1));
  CHECK(made(1) != made(2));
}

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

TEST_CASE("state hash: of nothing is zero, changes with every change, and does not know when it was taken") {
  StepBench bench;
  CHECK(bench.inventory().seal() == StateHash());
  bench.run("ITEM CREATE a STOCK 5");
  const StateHash one = bench.inventory().seal();
  CHECK(!(one == StateHash()));
  CHECK(bench.inventory().seal() == one);
  bench.run("RESERVE a u");
  CHECK(!(bench.inventory().seal() == one));
  bench.run("ITEM CREATE b STOCK 5");
  RecordTape nothing;
  Inventory at_once({}, nothing);
  REQUIRE(bench.tape().play(0, at_once).has_value());
  CHECK(at_once.seal() == bench.inventory().seal());
  bench.run("RELEASE a u");
  bench.run("ITEM DROP a");
  bench.run("ITEM DROP b");
  CHECK(bench.inventory().seal() == StateHash());
}

TEST_CASE("memory: is counted by kind, and comes back when items go") {
  StepBench bench;
  const InventoryMemory empty = bench.inventory().memory();
  bench.run("ITEM CREATE a STOCK 20000");
  for (int i = 0; i < 5000; ++i) bench.run(fmt::format("RESERVE a a-long-name-of-user-{}", i));
  const InventoryMemory full = bench.inventory().memory();
  CHECK(full.rows >= empty.rows + 5000 * sizeof(Row));
  CHECK(full.indexes > empty.indexes + 5000 * 10);
  CHECK(full.names > empty.names + 5000 * 16);
  for (int i = 0; i < 5000; ++i) bench.run(fmt::format("RELEASE a a-long-name-of-user-{}", i));
  bench.run("ITEM DROP a");
  CHECK(bench.inventory().next_due(bench.now()) <= bench.now().hold);
  bench.sweep();
  CHECK(bench.inventory().memory().rows <= empty.rows + 1000);
  // The next item of that size uses what the indexes and names left behind.
  bench.run("ITEM CREATE b STOCK 20000");
  for (int i = 0; i < 5000; ++i) bench.run(fmt::format("RESERVE b a-long-name-of-user-{}", i));
  CHECK(bench.inventory().memory().names == full.names);
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

TEST_CASE("find: a position of ITEM LIST is stable for a name, and empty at a tombstone") {
  StepBench bench;
  bench.run("ITEM CREATE a STOCK 5");
  bench.run("ITEM CREATE b STOCK 5");
  CHECK(bench.inventory().item_count() == 2);
  bench.run("ITEM DROP a");
  CHECK(bench.inventory().item_count() == 1);
  CHECK(bench.inventory().positions_end() == 2);
  CHECK(bench.inventory().at_position(0, bench.now()) == nullptr);
  CHECK(bench.inventory().at_position(1, bench.now()) == &item(bench.inventory(), "b"));
}
