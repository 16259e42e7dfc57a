#include "tools/unit_story.h"

#include "tests/doctest.h"

using namespace holdfast;

namespace {

const ReservationId kId(std::array<std::uint8_t, 16>{1, 2, 3});
const ReservationId kOther(std::array<std::uint8_t, 16>{4});

/// Writes a log by hand.
struct Tape {
  explicit Tape(const ReservationId& id = kId) : story("i", id) {}

  RecordStamp stamp(ItemNumber number) {
    lsn = lsn.next();
    return {lsn, hold_time(1000), wall_time(1'800'000'000'000), number, Sequence(lsn.value())};
  }
  void item(ItemEvent event, std::uint64_t number, std::string_view name, std::uint64_t version = 1,
            bool returns_held = false) {
    ItemRecord record;
    record.event = event;
    record.name = name;
    record.version = ItemVersion(version);
    record.returns_held = returns_held;
    record.adjust_id = kId;
    record.reason = "stock take";
    record.delta = -2;
    REQUIRE(story.on_item(stamp(ItemNumber(number)), record).has_value());
  }
  void unit(ReservationEvent event, std::uint64_t number = 1, const ReservationId& id = kId, bool write_off = false) {
    ReservationRecord record;
    record.event = event;
    record.id = id;
    record.user = UserId::from_number(7);
    record.quantity = Quantity(2);
    record.write_off = write_off;
    if (event == ReservationEvent::reserve) record.deadline = hold_time(61'000);
    record.after = {3, 2, 1, 0};
    REQUIRE(story.on_reservation(stamp(ItemNumber(number)), record).has_value());
  }
  void forget(std::uint64_t number, Sequence through) {
    RecordStamp at = stamp(ItemNumber(number));
    at.sequence = Sequence();
    REQUIRE(story.on_forget(at, {through, 1}).has_value());
  }
  std::string told() const {
    std::string lines;
    for (const auto& event : story.events()) {
      lines += std::string(event.at("event").as_string()) + ": " + std::string(event.at("what").as_string()) + "\n";
    }
    return lines;
  }

  UnitStory story;
  Lsn lsn;
};

}  // namespace

TEST_CASE("story: a unit from RESERVE to its end, each event with what it means") {
  Tape tape;
  tape.item(ItemEvent::load, 1, "i");
  tape.unit(ReservationEvent::reserve);
  tape.unit(ReservationEvent::reserve, 1, kOther);
  tape.unit(ReservationEvent::expire);
  tape.unit(ReservationEvent::resume);
  tape.unit(ReservationEvent::refund, 1, kId, true);
  tape.forget(1, Sequence(5));
  tape.forget(1, Sequence(100));
  CHECK(tape.told() ==
        "RESERVE: user 7 took 2 units, until 2027-01-15T08:01:00.000Z\n"
        "EXPIRE: not confirmed in time: 2 units became available again\n"
        "RESUME: confirmed after it had expired: 2 units taken again, sold to user 7\n"
        "REFUND: refunded: 2 units left the total (write-off)\n"
        "FORGET: the ended reservation was forgotten: the same id would be a new request\n");
  const auto event = tape.story.events().front();
  CHECK(event.at("lsn").to_number<std::uint64_t>() == 2);
  CHECK(event.at("time").as_string() == "2027-01-15T08:00:00.000Z");
  CHECK(event.at("state").as_string() == "RESERVED");
  CHECK(event.at("available").to_number<std::int64_t>() == 3);
}

TEST_CASE("story: returns that are held, and the end of a version") {
  Tape tape;
  tape.item(ItemEvent::load, 1, "i");
  tape.item(ItemEvent::returns, 1, "i", 1, true);
  tape.unit(ReservationEvent::reserve);
  tape.unit(ReservationEvent::release);
  tape.item(ItemEvent::load, 9, "i", 2);
  tape.unit(ReservationEvent::reserve, 9);
  tape.unit(ReservationEvent::confirm, 9);
  tape.item(ItemEvent::load, 10, "another");
  tape.item(ItemEvent::drop, 9, "i", 2);
  CHECK(tape.told() ==
        "RESERVE: user 7 took 2 units, until 2027-01-15T08:01:00.000Z\n"
        "RELEASE: released: 2 units went to held, since returns are held\n"
        "LOAD: version 2 was loaded: the server knows this reservation no more\n"
        "RESERVE: user 7 took 2 units, until 2027-01-15T08:01:00.000Z\n"
        "CONFIRM: 2 units sold to user 7\n"
        "DROP: the item was dropped: the server knows this reservation no more\n");
}

TEST_CASE(
    "story: the same id of another item is another reservation; an item whose name is not known is told with its "
    "number") {
  Tape tape;
  tape.item(ItemEvent::load, 1, "j");
  tape.unit(ReservationEvent::reserve, 1);
  CHECK(tape.told().empty());
  tape.unit(ReservationEvent::confirm, 2);
  REQUIRE(tape.story.events().size() == 1);
  CHECK_FALSE(tape.story.events()[0].contains("version"));
  tape.item(ItemEvent::pause, 2, "i", 4);
  CHECK(tape.story.events()[0].at("version").to_number<std::uint64_t>() == 4);
  tape.item(ItemEvent::pause, 2, "i", 4);
  CHECK(tape.story.events().size() == 1);
}

TEST_CASE("story: the id of an ADJUST says so") {
  Tape tape;
  tape.item(ItemEvent::load, 1, "i");
  tape.item(ItemEvent::adjust, 1, "i");
  CHECK(tape.told() == "ADJUST: this id is an ADJUST by -2, not a reservation: stock take\n");
}
