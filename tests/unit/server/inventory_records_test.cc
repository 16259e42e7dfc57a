// Records that nobody should have written: each is an error, none a crash, and what was there stays sound.
#include "tests/fuzz/record_noise.h"
#include "tests/simulation/seeded_random.h"
#include "tests/unit/server/record_tape.h"

#include "server/inventory.h"

#include "tests/doctest.h"

#include <string>

using namespace holdfast;

namespace {

constexpr std::string_view kName = "{sale}item";

ReservationId id_of(std::uint8_t n) { return ReservationId({n}); }

/// An inventory with one open item of 10 units, and the records that a reader might bring next.
class Reader {
 public:
  Reader() {
    ItemRecord open = load_record();
    REQUIRE(inventory_.on_item(stamp(1), open).has_value());
    open.event = ItemEvent::ready;
    open.state = ItemState::ready;
    REQUIRE(inventory_.on_item(stamp(2), open).has_value());
    open.event = ItemEvent::open;
    open.state = ItemState::open;
    REQUIRE(inventory_.on_item(stamp(3), open).has_value());
  }

  static ItemRecord load_record() {
    ItemRecord record;
    record.event = ItemEvent::load;
    record.name = kName;
    record.version = ItemVersion(7);
    record.definition.stock = 10;
    record.after.available = 10;
    record.total = 10;
    return record;
  }
  /// Of the item as it is, in a state of OPEN.
  static ItemRecord item_record(ItemEvent event) {
    ItemRecord record = load_record();
    record.event = event;
    record.state = ItemState::open;
    return record;
  }
  static ReservationRecord reserve_record() {
    ReservationRecord record;
    record.event = ReservationEvent::reserve;
    record.id = id_of(1);
    record.user = UserId::from_number(42);
    record.quantity = Quantity(2);
    record.deadline = hold_time(61'000);
    record.after = {8, 2, 0, 0};
    return record;
  }
  static RecordStamp stamp(std::uint64_t sequence) {
    return {Lsn(sequence), hold_time(1'000), wall_time(1'800'000'000'000), ItemNumber(5), Sequence(sequence)};
  }

  Inventory& inventory() { return inventory_; }
  /// The item's next record, whatever `change` made of it, is refused, and the item is as before.
  template <class Record, class Change>
  bool refuses(Record record, Change change) {
    RecordStamp at = stamp(4);
    change(at, record);
    return !play(at, record) && sound();
  }
  Result<void> play(const RecordStamp& at, const ItemRecord& record) { return inventory_.on_item(at, record); }
  Result<void> play(const RecordStamp& at, const ReservationRecord& record) {
    return inventory_.on_reservation(at, record);
  }
  Result<void> play(const RecordStamp& at, const ForgetRecord& record) { return inventory_.on_forget(at, record); }

 private:
  bool sound() {
    const Now now{hold_time(1'000), wall_time(1'000), {}};
    Item* item = inventory_.find(*ItemName::parse(kName), now);
    return item != nullptr && item->sequence == Sequence(3) && item->counters == Counters{10, 0, 0, 0} &&
           inventory_.verify(*item).ok && inventory_.fenced_count() == 0;
  }

  testing::RecordTape tape_;
  Inventory inventory_{Inventory::Settings(), tape_};
};

constexpr std::int64_t kOddTimes[] = {INT64_MIN, -1, INT64_MAX, INT64_MAX - 1};

}  // namespace

TEST_CASE("apply: records that fit are taken") {
  Reader reader;
  CHECK(reader.play(Reader::stamp(4), Reader::reserve_record()).has_value());
  CHECK(reader
            .play(Reader::stamp(5),
                  [] {
                    ItemRecord record = Reader::item_record(ItemEvent::set);
                    record.after = {8, 2, 0, 0};
                    return record;
                  }())
            .has_value());
}

TEST_CASE("apply: an event that does not exist is an error") {
  Reader reader;
  for (const int event : {0, 8, 13, 255}) {
    CHECK(reader.refuses(Reader::reserve_record(), [&](RecordStamp&, ReservationRecord& record) {
      record.event = static_cast<ReservationEvent>(event);
      record.after = {10, 0, 0, 0};
    }));
  }
  for (const int event : {0, 13, 255}) {
    CHECK(reader.refuses(Reader::item_record(ItemEvent::set),
                         [&](RecordStamp&, ItemRecord& record) { record.event = static_cast<ItemEvent>(event); }));
  }
}

TEST_CASE("apply: a LOAD of what no LOAD could load is an error") {
  Reader reader;
  const auto refused = [&](auto change) {
    return reader.refuses(Reader::load_record(), [&](RecordStamp& at, ItemRecord& record) {
      at.item = ItemNumber(6);
      at.sequence = Sequence(1);
      record.name = "other";
      change(at, record);
    });
  };
  const std::string long_name(kItemNameBytesMax + 1, 'n');
  CHECK(refused([](RecordStamp&, ItemRecord& record) { record.name = ""; }));
  CHECK(refused([&](RecordStamp&, ItemRecord& record) { record.name = long_name; }));
  CHECK(refused([](RecordStamp&, ItemRecord& record) { record.version = ItemVersion(0); }));
  CHECK(refused([](RecordStamp&, ItemRecord& record) { record.version = ItemVersion(UINT64_MAX); }));
  CHECK(refused([](RecordStamp& at, ItemRecord&) { at.item = ItemNumber(0); }));
  CHECK(refused([](RecordStamp& at, ItemRecord&) { at.item = ItemNumber(UINT64_MAX); }));
  CHECK(refused([](RecordStamp&, ItemRecord& record) { record.state = ItemState::open; }));
  CHECK(refused([](RecordStamp&, ItemRecord& record) { record.state = static_cast<ItemState>(9); }));
  CHECK(refused([](RecordStamp&, ItemRecord& record) { record.fenced = true; }));
  CHECK(refused([](RecordStamp&, ItemRecord& record) { record.definition.limit = -1; }));
  CHECK(refused([](RecordStamp&, ItemRecord& record) { record.definition.ttl = Millis(0); }));
  CHECK(refused([](RecordStamp&, ItemRecord& record) { record.definition.ttl = Millis(INT64_MAX); }));
  CHECK(refused([](RecordStamp&, ItemRecord& record) { record.definition.max_hold = Millis(INT64_MAX); }));
  CHECK(refused([](RecordStamp&, ItemRecord& record) { record.definition.max_hold = Millis(1); }));
  CHECK(refused([](RecordStamp&, ItemRecord& record) { record.definition.closes_at = wall_time(-1); }));
  CHECK(refused([](RecordStamp&, ItemRecord& record) { record.definition.opens_at = wall_time(INT64_MAX); }));
  CHECK(refused([](RecordStamp&, ItemRecord& record) { record.definition.scope = static_cast<LimitScope>(7); }));
  CHECK(refused([](RecordStamp&, ItemRecord& record) { record.definition.scope = LimitScope::sale; }));
  for (const std::int64_t time : kOddTimes) {
    CHECK(refused([&](RecordStamp& at, ItemRecord&) { at.hold = hold_time(time); }));
  }
}

TEST_CASE("apply: an item record that does more than its event is an error") {
  Reader reader;
  const auto refused = [&](ItemEvent event, auto change) {
    return reader.refuses(Reader::item_record(event), [&](RecordStamp&, ItemRecord& record) { change(record); });
  };
  for (const auto event : {ItemEvent::adjust, ItemEvent::set, ItemEvent::stock, ItemEvent::returns, ItemEvent::fence}) {
    CHECK(refused(event, [&](ItemRecord& record) {
      record.state = ItemState::closed, record.fenced = event == ItemEvent::fence;
    }));
  }
  CHECK(refused(ItemEvent::pause, [](ItemRecord& record) { record.state = ItemState::closed; }));
  CHECK(refused(ItemEvent::ready, [](ItemRecord& record) { record.state = ItemState::ready; }));
  CHECK(refused(ItemEvent::set, [](ItemRecord& record) { record.definition.scope = LimitScope::sale; }));
  CHECK(refused(ItemEvent::set, [](ItemRecord& record) { record.definition.ttl = Millis(INT64_MAX); }));
  CHECK(refused(ItemEvent::set, [](ItemRecord& record) { record.fenced = true; }));
  CHECK(refused(ItemEvent::fence, [](ItemRecord& record) { record.fenced = false; }));
  CHECK(refused(ItemEvent::unfence, [](ItemRecord&) {}));  // it is not fenced
  CHECK(refused(ItemEvent::set, [](ItemRecord& record) { record.returns_held = true; }));
}

TEST_CASE("apply: a fenced item takes UNFENCE and nothing else") {
  Reader reader;
  ItemRecord fence = Reader::item_record(ItemEvent::fence);
  fence.fenced = true;
  REQUIRE(reader.play(Reader::stamp(4), fence).has_value());
  CHECK(reader.inventory().fenced_count() == 1);
  CHECK_FALSE(reader.play(Reader::stamp(5), Reader::reserve_record()).has_value());
  ItemRecord close = fence;
  close.event = ItemEvent::close;
  close.state = ItemState::closed;
  CHECK_FALSE(reader.play(Reader::stamp(5), close).has_value());
  CHECK_FALSE(reader.play(Reader::stamp(5), fence).has_value());
  CHECK(reader.play(Reader::stamp(5), Reader::item_record(ItemEvent::unfence)).has_value());
  CHECK(reader.inventory().fenced_count() == 0);
  CHECK(reader.play(Reader::stamp(6), Reader::reserve_record()).has_value());
}

TEST_CASE("apply: a reservation record with numbers that no row can hold is an error") {
  Reader reader;
  const auto refused = [&](auto change) { return reader.refuses(Reader::reserve_record(), change); };
  CHECK(refused([](RecordStamp& at, ReservationRecord&) { at.lsn = Lsn(std::uint64_t{1} << 47); }));
  CHECK(refused([](RecordStamp& at, ReservationRecord&) { at.lsn = Lsn(UINT64_MAX); }));
  for (const std::int64_t time : kOddTimes) {
    CHECK(refused([&](RecordStamp& at, ReservationRecord&) { at.hold = hold_time(time); }));
    CHECK(refused([&](RecordStamp&, ReservationRecord& record) { record.deadline = hold_time(time); }));
    CHECK(refused([&](RecordStamp& at, ReservationRecord& record) {
      at.hold = hold_time(time);
      record.deadline.reset();
    }));
  }
  CHECK(refused([](RecordStamp&, ReservationRecord& record) { record.deadline = hold_time(999); }));
  for (const std::int64_t quantity : {std::int64_t{0}, std::int64_t{-1}, INT64_MIN, INT64_MAX, kStockMax + 1}) {
    CHECK(refused([&](RecordStamp&, ReservationRecord& record) { record.quantity = Quantity(quantity); }));
  }
  CHECK(refused([](RecordStamp&, ReservationRecord& record) { record.write_off = true; }));
}

TEST_CASE("apply: an EXTEND that shortens is an error") {
  Reader reader;
  REQUIRE(reader.play(Reader::stamp(4), Reader::reserve_record()).has_value());
  ReservationRecord extend = Reader::reserve_record();
  extend.event = ReservationEvent::extend;
  for (const std::int64_t deadline : {60'999, 61'000}) {
    extend.deadline = hold_time(deadline);
    CHECK_FALSE(reader.play(Reader::stamp(5), extend).has_value());
  }
  extend.deadline = hold_time(61'001);
  CHECK(reader.play(Reader::stamp(5), extend).has_value());
}

TEST_CASE("apply: a FORGET of none or of more than one may is an error") {
  Reader reader;
  const auto refused = [&](std::uint32_t count) {
    return reader.refuses(ForgetRecord{Sequence(3), count}, [](RecordStamp& at, ForgetRecord&) { at.sequence = {}; });
  };
  CHECK(refused(0));
  CHECK(refused(1));
  CHECK(refused(UINT32_MAX));
}

TEST_CASE("apply: any records leave an inventory that is sound") {
  // To replay one: the seed below in place of 1, one round.
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    std::vector<std::uint8_t> bytes(4'000);
    simulation::Dice(seed).fill(bytes);
    fuzz::run_record_noise(bytes);
  }
}

TEST_CASE("apply: versions that are gone take no memory while a log is read") {
  testing::RecordTape tape;
  Inventory live(Inventory::Settings(), tape);
  Now now{hold_time(1'000'000), wall_time(1'800'000'000'000), {}};
  LoadRequest load{*ItemName::parse("item"), {}, {}, true};
  load.definition.stock = 2'000;
  for (std::uint64_t version = 1; version <= 20; ++version) {
    load.version = ItemVersion(version);
    REQUIRE(live.load(load, now).has_value());
    Item& item = *live.find(load.item, now);
    for (std::uint64_t user = 0; user < 2'000; ++user) {
      const VerbRequest verb{load.item, UserId::from_number(user)};
      REQUIRE(live.reserve(item, {load.item, *verb.user}, now).has_value());
      REQUIRE(live.confirm(item, verb, now).has_value());
    }
    REQUIRE(live.move(item, ItemEvent::close, now).has_value());
    while (live.sweep(now)) continue;
  }
  testing::RecordTape nothing;
  Inventory replica(Inventory::Settings(), nothing);
  REQUIRE(tape.play(0, replica).has_value());
  CHECK(replica.memory().rows == live.memory().rows);
  CHECK(replica.next_due(now) == live.next_due(now));
}
