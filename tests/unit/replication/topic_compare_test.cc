#include "replication/topic_compare.h"

#include "replication/dead_letter.h"
#include "tests/unit/replication/event_tape.h"

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::test;

namespace {

using Kinds = std::map<std::string, std::uint64_t>;

/// A log, and the topics that a relay made of it, one partition each, to be damaged.
struct Shop {
  static constexpr std::array<KafkaRole, 2> kRoles = {KafkaRole::orders, KafkaRole::events};

  LogMaker log;
  EventTape tape{log};
  std::vector<Event> events;
  std::array<std::vector<KafkaMessage>, 2> topics;
  std::array<bool, 2> cut{};
  std::array<std::size_t, 2> moved_at{1000, 1000};  // the record from which on all are in another partition
  Lsn after;
  Lsn oldest{1};
  std::optional<Lsn> through;  // nothing: all
  std::optional<Lsn> later;
  bool offered = true;
  std::vector<TopicDifference> found;
  std::uint64_t replays = 0;

  Shop() {
    auto& one = log.create("item:1", 100);
    auto& two = log.create("other", 100);
    for (std::uint64_t id = 1; id <= 10; ++id) {
      log.reserve(one, id, std::to_string(id));
      log.reserve(two, id, "b");
      if (id > 5) log.follow(one, id, ReservationEvent::confirm);
    }
    publish();
  }

  std::vector<KafkaMessage>& topic(KafkaRole role) { return topics[static_cast<std::size_t>(role)]; }

  void publish() {
    const KafkaRecordMaker maker(log.log, {});
    for (Event& event : tape.next()) {
      if (event.is(ReservationEvent::reserve)) put(maker.order(event));
      put(maker.event(event));
      events.push_back(std::move(event));
    }
  }

  void put(const KafkaRecord& record) {
    KafkaMessage message;
    message.key = record.key;
    message.value = record.value;
    topic(record.role).push_back(std::move(message));
  }

  /// The record of that change. REQUIRES: it is there.
  std::size_t place_of(KafkaRole role, const std::string& item, std::uint64_t sequence) {
    const auto is_it = [&](const KafkaMessage& each) {
      const auto record = read_topic_record(role, each);
      return record && record->item == item && record->sequence == Sequence(sequence);
    };
    const auto& all = topic(role);
    const auto place = std::find_if(all.begin(), all.end(), is_it);
    REQUIRE(place != all.end());
    return static_cast<std::size_t>(place - all.begin());
  }
  void remove(KafkaRole role, const std::string& item, std::uint64_t sequence) {
    topic(role).erase(topic(role).begin() + static_cast<std::ptrdiff_t>(place_of(role, item, sequence)));
  }
  void repeat(KafkaRole role, const std::string& item, std::uint64_t sequence, std::vector<KafkaHeader> headers = {}) {
    KafkaMessage again = topic(role)[place_of(role, item, sequence)];
    again.headers = std::move(headers);
    topic(role).push_back(std::move(again));
  }
  void change(KafkaRole role, const std::string& item, std::uint64_t sequence, const std::string& from,
              const std::string& to) {
    std::string& value = *topic(role)[place_of(role, item, sequence)].value;
    REQUIRE(value.find(from) != std::string::npos);
    value.replace(value.find(from), from.size(), to);
  }
  Lsn lsn_of(const std::string& item, std::uint64_t sequence) const {
    for (const Event& event : events) {
      if (event.item->name == item && event.sequence == Sequence(sequence)) return event.lsn;
    }
    return {};
  }

  Kinds compare() {
    auto files = SpillFiles::make();
    REQUIRE(files.has_value());
    TopicCompare compare(std::move(*files), after, {kRoles.begin(), kRoles.end()},
                         [](KafkaRole, std::string_view) { return 0; });
    for (const KafkaRole role : kRoles) {
      compare.begin_partition(role, 0, cut[static_cast<std::size_t>(role)]);
      KafkaPlace place;
      for (std::size_t i = 0; i < topic(role).size(); ++i) {
        if (i == moved_at[static_cast<std::size_t>(role)]) {
          place = {1, 0};
          compare.begin_partition(role, 1, false);
        }
        KafkaMessage& each = topic(role)[i];
        each.place = place;
        ++place.offset;
        REQUIRE(compare.take(each).has_value());
      }
    }
    for (const Event& event : events) {
      if (event.lsn >= oldest) REQUIRE(compare.take(event, offered).has_value());
    }
    const Lsn end = events.back().lsn;
    REQUIRE(
        compare.compare({through.value_or(end), later.value_or(through.value_or(end)), oldest, end}, [](std::size_t) {})
            .has_value());
    found = compare.differences().kept();
    replays = compare.replays();
    Kinds kinds;
    for (std::size_t i = 0; i < kTopicDifferenceKinds; ++i) {
      if (const auto count = compare.differences().count(static_cast<TopicDifferenceKind>(i)))
        kinds[std::string(topic_difference_kinds()[i].name)] = count;
    }
    return kinds;
  }
};

constexpr KafkaRole kOrders = KafkaRole::orders;
constexpr KafkaRole kEvents = KafkaRole::events;

}  // namespace

TEST_CASE("topic_compare: what the relay wrote is the log") {
  Shop shop;
  CHECK(shop.compare() == Kinds{});
  shop.offered = false;
  CHECK(shop.compare() == Kinds{});
}

TEST_CASE("topic_compare: a record that is gone is missing") {
  Shop shop;
  shop.remove(kOrders, "item:1", 4);
  shop.remove(kEvents, "item:1", 5);
  shop.remove(kEvents, "other", 1);
  CHECK(shop.compare() == Kinds{{"missing", 3}});
  CHECK(shop.found[0].role == kOrders);
  CHECK(shop.found[0].lsn == shop.lsn_of("item:1", 4));
  CHECK(shop.found[1].item == "item:1");
  CHECK(shop.found[1].sequence == Sequence(5));
}

TEST_CASE("topic_compare: a further record is a duplicate, one that was sent again is not") {
  Shop shop;
  shop.repeat(kOrders, "item:1", 4, {{std::string(kReplayHeader), "orders.DLT/0/1"}});
  shop.repeat(kOrders, "item:1", 4, {{std::string(kReplayHeader), "orders.DLT/0/2"}});
  CHECK(shop.compare() == Kinds{});
  CHECK(shop.replays == 2);
  shop.repeat(kOrders, "item:1", 4);
  shop.repeat(kEvents, "item:1", 12);
  CHECK(shop.compare() == Kinds{{"duplicate", 2}});
  CHECK(shop.found[0].place->offset == 22);
  CHECK(shop.found[0].topic == "0/2, too");
}

TEST_CASE("topic_compare: a record that is only there as sent again is missing") {
  Shop shop;
  shop.repeat(kOrders, "item:1", 4, {{std::string(kReplayHeader), "orders.DLT/0/1"}});
  shop.remove(kOrders, "item:1", 4);
  CHECK(shop.compare() == Kinds{{"missing", 1}});
}

TEST_CASE("topic_compare: a record behind a later one of its item is out of order") {
  Shop shop;
  shop.repeat(kEvents, "item:1", 7);
  shop.remove(kEvents, "item:1", 7);
  CHECK(shop.compare() == Kinds{{"order", 1}});
  CHECK(shop.found[0].sequence == Sequence(7));
}

TEST_CASE("topic_compare: a record that the log does not know is unknown") {
  Shop shop;
  shop.repeat(kOrders, "item:1", 4);
  shop.topic(kOrders).back().value->replace(shop.topic(kOrders).back().value->find("\"sequence\":4"), 12,
                                            "\"sequence\":400");
  shop.topic(kOrders).emplace_back().value = "spam";
  shop.topic(kEvents).emplace_back().value = R"({"event":"LOAD","item":"none","version":1,"sequence":1,"lsn":1})";
  shop.topic(kOrders).emplace_back().value = R"({"item":"item:1","version":1,"sequence":1})";  // a LOAD
  shop.topic(kEvents).emplace_back();
  CHECK(shop.compare() == Kinds{{"unknown", 5}});
}

TEST_CASE("topic_compare: a record that says something else is named") {
  Shop shop;
  shop.change(kOrders, "item:1", 4, "\"quantity\":1", "\"quantity\":2");
  shop.change(kEvents, "item:1", 5, "\"userId\":3", "\"userId\":4");
  shop.change(kOrders, "item:1", 6, "\"price\":0", "\"price\":7");
  shop.change(kEvents, "other", 3, "\"at\":1", "\"at\":2");
  shop.topic(kOrders)[shop.place_of(kOrders, "item:1", 7)].key = "item:2";
  CHECK(shop.compare() == Kinds{{"content", 5}});
  CHECK(shop.found[0].offer_known);
  // Where the log does not say what was to be paid, a price cannot be wrong.
  shop.offered = false;
  CHECK(shop.compare() == Kinds{{"content", 4}});
}

TEST_CASE(
    "topic_compare: what comes after the cursor is not due, and no difference when the relay brings it meanwhile") {
  Shop shop;
  shop.through = shop.lsn_of("item:1", 8);
  shop.later = shop.events.back().lsn;
  CHECK(shop.compare() == Kinds{});
  shop.remove(kEvents, "item:1", 12);
  CHECK(shop.compare() == Kinds{});
  shop.remove(kEvents, "item:1", 7);
  CHECK(shop.compare() == Kinds{{"missing", 1}});
}

TEST_CASE("topic_compare: a cursor that is behind the topics, or ahead of them, is one difference") {
  Shop behind;
  behind.through = behind.lsn_of("item:1", 8);
  CHECK(behind.compare() == Kinds{{"cursor", 1}});
  CHECK(behind.found[0].log ==
        "the topics have everything through LSN " + std::to_string(behind.events.back().lsn.value()));
  Shop ahead;
  const auto has = ahead.events.size();
  ahead.log.reserve(ahead.log.create("third", 3), 1, "c");
  for (Event& event : ahead.tape.next()) ahead.events.push_back(std::move(event));
  CHECK(ahead.compare() == Kinds{{"cursor", 1}});
  CHECK(ahead.found[0].log == "the topics have everything through LSN " +
                                  std::to_string(ahead.events[has - 1].lsn.value()) + ", and nothing later");
  ahead.remove(kOrders, "item:1", 4);
  CHECK(ahead.compare() == Kinds{{"missing", 1 + 3 + 1}});
  Shop beyond;
  beyond.through = Lsn(1000);
  CHECK(beyond.compare() == Kinds{{"cursor", 1}});
}

TEST_CASE("topic_compare: what has been deleted from a topic's beginning is not missing") {
  Shop shop;
  auto& events = shop.topic(kEvents);
  events.erase(events.begin(), events.begin() + 9);
  CHECK(shop.compare() == Kinds{{"missing", 9}});
  shop.cut = {false, true};
  CHECK(shop.compare() == Kinds{});
  shop.remove(kEvents, "item:1", 12);
  shop.remove(kOrders, "item:1", 3);
  CHECK(shop.compare() == Kinds{{"missing", 2}});
  shop.topics = {};
  shop.cut = {true, true};
  CHECK(shop.compare() == Kinds{});
}

TEST_CASE("topic_compare: a sink that began with a snapshot has what comes behind it") {
  Shop shop;
  shop.after = shop.lsn_of("item:1", 6);
  for (std::uint64_t sequence = 1; sequence <= 6; ++sequence) shop.remove(kEvents, "item:1", sequence);
  CHECK(shop.compare() == Kinds{});
  shop.remove(kEvents, "item:1", 7);
  CHECK(shop.compare() == Kinds{{"missing", 1}});
}

TEST_CASE("topic_compare: before the log begins, the events show what there is") {
  const auto with_short_log = [] {
    Shop shop;
    shop.oldest = shop.lsn_of("item:1", 9);
    shop.offered = false;
    return shop;
  };
  Shop sound = with_short_log();
  CHECK(sound.compare() == Kinds{});
  Shop gap = with_short_log();
  gap.remove(kEvents, "item:1", 4);
  gap.remove(kEvents, "item:1", 5);
  gap.remove(kEvents, "other", 1);
  CHECK(gap.compare() == Kinds{{"missing", 2}, {"unknown", 2}});  // and the orders of what is missing
  Shop until_log = with_short_log();
  until_log.remove(kEvents, "item:1", 8);
  until_log.remove(kOrders, "item:1", 8);
  until_log.remove(kEvents, "item:1", 10);
  CHECK(until_log.compare() == Kinds{{"missing", 2}});
  Shop order = with_short_log();
  order.remove(kOrders, "item:1", 4);
  CHECK(order.compare() == Kinds{{"missing", 1}});
  Shop twice = with_short_log();
  twice.repeat(kEvents, "item:1", 4);
  CHECK(twice.compare() == Kinds{{"duplicate", 1}});
  Shop foreign = with_short_log();
  foreign.topic(kOrders).emplace_back().value = R"({"item":"none","version":1,"sequence":3})";
  CHECK(foreign.compare() == Kinds{{"unknown", 1}});
}

TEST_CASE("topic_compare: a beginning that was deleted before the log begins hides nothing of the log") {
  Shop shop;
  shop.oldest = shop.lsn_of("item:1", 9);
  shop.offered = false;
  shop.topic(kEvents).erase(shop.topic(kEvents).begin(), shop.topic(kEvents).begin() + 7);
  shop.topic(kOrders).erase(shop.topic(kOrders).begin(), shop.topic(kOrders).begin() + 2);
  shop.cut = {true, true};
  CHECK(shop.compare() == Kinds{});
  shop.remove(kEvents, "item:1", 12);
  CHECK(shop.compare() == Kinds{{"missing", 1}});
}

TEST_CASE("topic_compare: items that are in several partitions, since there are more now, are as they were") {
  Shop shop;
  shop.moved_at = {9, 14};
  CHECK(shop.compare() == Kinds{});
  shop.oldest = shop.lsn_of("item:1", 11);
  shop.offered = false;
  CHECK(shop.compare() == Kinds{});
}
