#include "storage/item_directory.h"

#include "storage/group.h"
#include "tests/doctest.h"

namespace holdfast {
namespace {

RecordStamp stamp(std::uint64_t lsn, std::uint64_t item) {
  RecordStamp made;
  made.lsn = Lsn(lsn);
  made.item = ItemNumber(item);
  made.sequence = Sequence(1);
  return made;
}

ItemRecord record(ItemEvent event, std::string_view name, std::uint64_t version) {
  ItemRecord made;
  made.event = event;
  made.name = name;
  made.version = ItemVersion(version);
  return made;
}

}  // namespace

TEST_CASE("item directory: a number is known from the first record of its item on") {
  ItemDirectory items;
  CHECK(items.find(ItemNumber(7)) == nullptr);
  items.learn(stamp(1, 7), record(ItemEvent::load, "i", 3));
  items.learn(stamp(2, 8), record(ItemEvent::open, "j", 1));
  items.note(ItemNumber(9), "k", ItemVersion(2), Lsn());
  REQUIRE(items.find(ItemNumber(7)) != nullptr);
  CHECK(items.find(ItemNumber(7))->name == "i");
  CHECK(items.find(ItemNumber(7))->version == ItemVersion(3));
  CHECK(items.find(ItemNumber(8))->name == "j");
  CHECK(items.find(ItemNumber(9))->version == ItemVersion(2));
}

TEST_CASE("item directory: what ended goes once its records are gone, and nothing else") {
  ItemDirectory items;
  items.learn(stamp(1, 1), record(ItemEvent::load, "reloaded", 1));
  items.learn(stamp(2, 2), record(ItemEvent::load, "dropped", 1));
  items.learn(stamp(3, 3), record(ItemEvent::load, "live", 1));
  items.learn(stamp(10, 4), record(ItemEvent::load, "reloaded", 2));
  items.learn(stamp(20, 2), record(ItemEvent::drop, "dropped", 1));
  items.learn(stamp(30, 5), record(ItemEvent::load, "dropped", 2));
  items.forget_before(Lsn(10));
  CHECK(items.size() == 5);
  items.forget_before(Lsn(11));
  CHECK(items.find(ItemNumber(1)) == nullptr);
  CHECK(items.find(ItemNumber(2)) != nullptr);
  items.forget_before(Lsn(1000));
  CHECK(items.size() == 3);
  CHECK(items.find(ItemNumber(3)) != nullptr);
  CHECK(items.find(ItemNumber(4))->version == ItemVersion(2));
  CHECK(items.find(ItemNumber(5))->version == ItemVersion(2));
}

TEST_CASE("item directory: versions that follow one another without end do not add up") {
  ItemDirectory items;
  for (std::uint64_t version = 1; version <= 10'000; ++version) {
    items.learn(stamp(version, version), record(ItemEvent::load, "i", version));
    items.forget_before(Lsn(version));
  }
  CHECK(items.size() <= 2);
}

TEST_CASE(
    "item directory: of what a snapshot tells, all but the newest version of a name end with their last records") {
  ItemDirectory items;
  items.note(ItemNumber(3), "i", ItemVersion(3), Lsn(30));
  items.note(ItemNumber(1), "i", ItemVersion(1), Lsn(10));
  items.note(ItemNumber(4), "i", ItemVersion(4), Lsn(40));
  items.note(ItemNumber(4), "i", ItemVersion(4), Lsn());
  items.forget_before(Lsn(10));
  CHECK(items.size() == 3);
  items.forget_before(Lsn(11));
  CHECK(items.find(ItemNumber(1)) == nullptr);
  CHECK(items.find(ItemNumber(3)) != nullptr);
  items.forget_before(Lsn(1000));
  CHECK(items.size() == 1);
  items.learn(stamp(1100, 5), record(ItemEvent::load, "i", 5));
  items.forget_before(Lsn(1101));
  CHECK(items.size() == 1);
}

TEST_CASE("item directory: it learns from the bytes of a batch") {
  Group group(ShardIndex(0), 1_MiB);
  group.open(GroupOrdinal(1));
  ReservationRecord reservation;
  reservation.event = ReservationEvent::reserve;
  group.on_reservation(stamp(0, 4), reservation);
  ItemRecord load = record(ItemEvent::load, "late", 6);
  group.on_item(stamp(0, 5), load);
  ItemDirectory items;
  REQUIRE(items.learn({group.bytes(), Lsn(1), group.record_count(), Lsn()}).has_value());
  CHECK(items.size() == 1);
  CHECK(items.find(ItemNumber(5))->name == "late");
  const RecordCount count = count_records(group.bytes());
  CHECK((count.records == 3 && count.clocks == 1 && count.after_last == 0 && count.items));
}

}  // namespace holdfast
