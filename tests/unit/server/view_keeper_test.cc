#include "server/view_keeper.h"

#include "server/item_view.h"
#include "server/view_map.h"
#include "tests/unit/server/shard_fixture.h"

#include <fmt/format.h>

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::testing;

namespace {

/// A shard, and a thread that answers from views what it can and asks the shard otherwise.
struct Server {
  PlayedShard shard;
  ViewMap map{shard.shard.inventory().views().hashes()};
  std::uint64_t answered = 0;  // from views

  Inventory& inventory() { return shard.shard.inventory(); }
  ViewKeeper& views() { return inventory().views(); }
  Item& item(std::string_view name) { return *InventoryAccess::item(inventory(), name); }
  bool published(std::string_view name) { return ViewKeeper::is_published(item(name)); }

  /// Filters are built and what is to be known is known.
  void settle() {
    while (shard.shard.keep_time(shard.now)) continue;
    shard.make_durable();
    learn();
  }
  void learn() {
    for (const ViewNews& news : shard.shard.take_view_news(PlayedShard::kThread)) map.learn(news.item, news.view);
    for (const RetiredView& retired : shard.shard.take_retired()) {
      map.forget(retired.view);
      shard.shard.reclaim(retired.ticket);
    }
  }
  std::string ask(std::string_view line) {
    const auto text = split_words(line);
    const std::vector<std::string_view> words(text.begin(), text.end());
    std::string bytes;
    ReplyWriter reply(bytes, RespVersion::resp2);
    if (words[0] == "RESERVE" && map.answer(words, ViewTime::of(shard.now), reply)) return ++answered, bytes;
    bytes = shard.ask(line);
    learn();
    return bytes;
  }
  /// Whether this is answered from the view.
  bool from_view(std::string_view line) {
    const std::uint64_t before = answered;
    ask(line);
    return answered != before;
  }
  void pass(Millis time) { shard.now.hold += time, shard.now.wall += time; }
  /// The item refuses, and everybody knows.
  void make_known(std::string_view name) {
    ask(fmt::format("RESERVE {} stranger", name));
    settle();
    ask(fmt::format("RESERVE {} stranger", name));
    REQUIRE(published(name));
    REQUIRE(from_view(fmt::format("RESERVE {} stranger", name)));
  }
};

/// Item a has sold its one unit to user 1.
struct SoldOut : Server {
  explicit SoldOut(std::string_view options = "") {
    ask(fmt::format("ITEM CREATE a STOCK 1 {}", options));
    ask("RESERVE a 1 ID 00000000-0000-4000-8000-000000000001");
    make_known("a");
  }
};

}  // namespace

TEST_CASE("view_keeper: an item that sells has neither view nor filters") {
  Server server;
  server.ask("ITEM CREATE a STOCK 10");
  const std::size_t before = server.views().bytes();
  for (int user = 1; user <= 5; ++user) server.ask(fmt::format("RESERVE a {}", user));
  server.ask("RESERVE a 1");
  server.ask("RESERVE a 6 QTY 7");
  server.settle();
  CHECK(ViewKeeper::view_of(server.item("a")) == nullptr);
  CHECK(server.views().bytes() == before);
}

TEST_CASE("view_keeper: what is not durable is not published") {
  Server server;
  server.ask("ITEM CREATE a STOCK 1");
  server.shard.send("RESERVE a 1");
  server.shard.send("RESERVE a 2");
  while (server.shard.shard.keep_time(server.shard.now)) continue;
  server.shard.send("RESERVE a 2");
  CHECK_FALSE(server.published("a"));
  REQUIRE(server.shard.hand_over());
  CHECK_FALSE(server.published("a"));
  server.shard.commit();
  CHECK(server.published("a"));
}

TEST_CASE("view_keeper: every change withdraws the view, and what refuses is published again when it is durable") {
  const char* const changes[] = {"RELEASE a 1",
                                 "CONFIRM a 1",
                                 "EXTEND a 1 TTL 700000",
                                 "ITEM PAUSE a",
                                 "ITEM CLOSE a",
                                 "ITEM ADJUST a 1 ID 00000000-0000-4000-8000-000000000009 REASON x",
                                 "ITEM SET a LIMIT 5 EXPECT 1",
                                 "ITEM RETURNS a HOLD",
                                 "ITEM RETURNS * HOLD"};
  for (const std::string_view change : changes) {
    CAPTURE(change);
    SoldOut server;
    server.shard.send(change);
    CHECK_FALSE(server.published("a"));
    server.shard.make_durable();
    const bool sells = change == "RELEASE a 1" || change.starts_with("ITEM ADJUST");
    CHECK(server.published("a") == !sells);
    CHECK(server.from_view("RESERVE a 2") == !sells);
  }
}

TEST_CASE("view_keeper: the answers are those of the owner, byte for byte") {
  const std::pair<const char*, const char*> states[] = {
      {"ITEM CREATE b STOCK 0", "sold_out"},
      {"ITEM LOAD b VERSION 1 STOCK 5", "not_open"},
      {"ITEM CREATE b STOCK 5 OPENS-AT 1800000060000", "not_open"},
  };
  const auto check = [](Server& server, const char* reason) {
    const std::string owner = server.shard.ask("RESERVE b 500 DETAILS");
    CHECK(owner.find(reason) != std::string::npos);
    const std::uint64_t before = server.answered;
    CHECK(server.ask("RESERVE b 500 DETAILS") == owner);
    CHECK(server.ask("RESERVE b 500") == server.shard.ask("RESERVE b 500"));
    CHECK(server.answered == before + 2);
  };
  for (const auto& [create, reason] : states) {
    Server server;
    server.ask(create);
    server.make_known("b");
    check(server, reason);
    server.pass(Millis(7));
    check(server, reason);
    if (std::string_view(reason) == "sold_out") {
      server.ask("ITEM PAUSE b");
      check(server, "paused");
    }
    server.ask("ITEM CLOSE b");
    check(server, "closed");
  }
}

TEST_CASE("view_keeper: it ends with the first unit that comes back, and when the item opens or closes") {
  SoldOut server("TTL 100");
  server.pass(Millis(99));
  CHECK(server.from_view("RESERVE a 2"));
  server.pass(Millis(1));
  CHECK(server.ask("RESERVE a 2") == ":0\r\n");

  Server windows;
  windows.ask("ITEM CREATE a STOCK 1 OPENS-AT 1800000000050 CLOSES-AT 1800000000100");
  windows.make_known("a");
  windows.pass(Millis(49));
  CHECK(windows.from_view("RESERVE a 2"));
  windows.pass(Millis(1));
  CHECK(windows.ask("RESERVE a 2") == ":0\r\n");
  windows.make_known("a");
  windows.pass(Millis(49));
  CHECK(windows.from_view("RESERVE a 3"));
  windows.pass(Millis(1));
  CHECK(windows.ask("RESERVE a 3") == ":-4\r\n");
}

TEST_CASE("view_keeper: what ends in less than a millisecond is not published") {
  SoldOut server("TTL 100");
  server.ask("ITEM RETURNS a HOLD");
  server.pass(Millis(99));
  server.ask("RESERVE a 2");
  CHECK(server.published("a"));
  server.shard.now.round_up = Millis(1);
  server.ask("ITEM RETURNS a FREE");
  CHECK_FALSE(server.published("a"));
}

TEST_CASE("view_keeper: users with a live reservation and known ids go to the owner, also after RESUME") {
  SoldOut server("TTL 100");
  CHECK(server.ask("RESERVE a 1") == ":-2\r\n");
  CHECK(server.ask("RESERVE a 1 ID 00000000-0000-4000-8000-000000000001") == ":0\r\n");
  CHECK(server.ask("RESERVE a 2 ID 00000000-0000-4000-8000-000000000001").starts_with("-IDMISMATCH user"));
  server.pass(Millis(100));
  server.ask("RESERVE a 3 ID 00000000-0000-4000-8000-000000000003");
  server.make_known("a");
  CHECK(server.ask("RESERVE a 3") == ":-2\r\n");
  CHECK(server.ask("RESERVE a 1 ID 00000000-0000-4000-8000-000000000001") == ":-8\r\n");
  server.pass(Millis(100));
  CHECK(server.ask("CONFIRM a 1 ID 00000000-0000-4000-8000-000000000001 RESUME") == ":1\r\n");
  server.make_known("a");
  CHECK(server.ask("RESERVE a 1") == ":-2\r\n");
}

TEST_CASE("view_keeper: what a user has of another item of the sale counts") {
  Server server;
  server.ask("ITEM CREATE {s}a STOCK 0 SCOPE sale");
  server.ask("ITEM CREATE {s}b STOCK 9 SCOPE sale");
  server.ask("RESERVE {s}b 1");
  server.make_known("{s}a");
  CHECK(server.ask("RESERVE {s}a 1") == ":-2\r\n");
  // The other item's change leaves this one's view as it is, but for the user's bit.
  server.shard.send("RESERVE {s}b 2");
  CHECK(server.published("{s}a"));
  server.shard.make_durable();
  server.shard.replies();
  CHECK(server.ask("RESERVE {s}a 2") == ":-2\r\n");
  CHECK(server.from_view("RESERVE {s}a 3"));
  server.ask("ITEM CLOSE {s}b");
  server.ask("ITEM DROP {s}b CONFIRMED-TOO");
  server.ask("ITEM CLOSE {s}a");
  CHECK(server.ask("ITEM DROP {s}a") == ":1\r\n");
}

TEST_CASE("view_keeper: without a limit nobody's reservations matter") {
  SoldOut server("LIMIT 0");
  CHECK(server.from_view("RESERVE a 1"));
  // With one, who has what is looked at first.
  server.ask("ITEM SET a LIMIT 1 EXPECT 0");
  CHECK(server.ask("RESERVE a 1") == ":-2\r\n");
  server.settle();
  CHECK(server.ask("RESERVE a 1") == ":-2\r\n");
  server.make_known("a");
}

TEST_CASE("view_keeper: filters are built a few rows at a time, while reservations are made") {
  Server server;
  constexpr int kRows = 3 * static_cast<int>(kFilterRowsPerTurn);
  server.ask(fmt::format("ITEM CREATE a STOCK {}", kRows + 1));
  for (int user = 0; user < kRows; ++user) server.shard.send(fmt::format("RESERVE a {}", user));
  server.shard.make_durable();
  server.ask("ITEM PAUSE a");
  CHECK(server.ask("RESERVE a 999999") == ":-5\r\n");
  int turns = 1;
  for (; server.shard.shard.keep_time(server.shard.now); ++turns) {
    CHECK(server.shard.shard.next_due(server.shard.now) <= server.shard.now.hold);
    if (turns != 2) continue;
    server.ask("ITEM OPEN a");
    CHECK(server.ask("RESERVE a 500000") == ":0\r\n");
    server.ask("ITEM PAUSE a");
  }
  CHECK(turns >= 6);  // for each of two filters
  server.make_known("a");
  CHECK(server.views().bytes() < 6 * std::size_t{kRows});
  for (int user = 0; user < kRows; user += 97) {
    CHECK(server.shard.ask(fmt::format("RESERVE a {}", user)) == server.ask(fmt::format("RESERVE a {}", user)));
    CHECK_FALSE(server.from_view(fmt::format("RESERVE a {}", user)));
  }
  CHECK_FALSE(server.from_view("RESERVE a 500000"));
  int strangers = 0;
  for (int user = 0; user < 1000; ++user)
    strangers += server.from_view(fmt::format("RESERVE a {}", 600'000 + user)) ? 1 : 0;
  CHECK(strangers > 980);
}

TEST_CASE("view_keeper: filters follow what is remembered, and their memory comes back") {
  SoldOut server("TTL 100");
  std::size_t bytes_max = 0;
  for (int user = 1000; user < 5000; ++user) {
    server.pass(Millis(100));
    server.ask(fmt::format("RESERVE a {}", user));
    server.settle();
    CHECK(server.ask(fmt::format("RESERVE a {}", user)) == ":-2\r\n");
    if (user == 2000) bytes_max = server.views().bytes();
  }
  server.make_known("a");
  // Ids are remembered, users are not: one live user needs no large filter.
  CHECK(server.views().bytes() < 4 * bytes_max);
  int strangers = 0;
  for (int user = 1000; user < 4999; ++user) strangers += server.from_view(fmt::format("RESERVE a {}", user)) ? 1 : 0;
  CHECK(strangers > 3500);
}

TEST_CASE("view_keeper: a dropped or reloaded item's view is retired, its successor's is another") {
  SoldOut server("TTL 100");
  const ItemView* first = ViewKeeper::view_of(server.item("a"));
  server.ask("ITEM CLOSE a");
  server.make_known("a");
  server.pass(Millis(100));
  server.shard.ask("ITEM LOAD a VERSION 2 STOCK 1");
  bool told = false;
  for (const RetiredView& retired : server.shard.shard.take_retired()) {
    told = told || retired.view == first;
    CHECK(first->read({1, 5, {}, server.shard.now.hold.time_since_epoch(), server.shard.now.wall}) == std::nullopt);
    server.map.forget(retired.view);
    server.shard.shard.reclaim(retired.ticket);
  }
  CHECK(told);
  CHECK(server.ask("RESERVE a 2") == ":-3\r\n");
  server.make_known("a");
  const std::size_t before = server.views().bytes();
  server.ask("ITEM DROP a");
  CHECK(server.views().bytes() < before);
  CHECK(server.ask("RESERVE a 2").starts_with("-NOITEM"));
}

TEST_CASE("view_keeper: news that nobody has taken go with the view") {
  Server server;
  server.ask("ITEM CREATE a STOCK 0");
  server.ask("RESERVE a 1");
  server.settle();
  server.shard.send("RESERVE a 1");
  server.shard.send("ITEM DROP a");
  CHECK(server.shard.shard.take_view_news(PlayedShard::kThread).empty());
  CHECK(server.shard.shard.take_retired().size() == 1);
}

TEST_CASE("view_keeper: a thread is told once, and again when it goes on asking") {
  Server server;
  server.ask("ITEM CREATE a STOCK 0");
  server.make_known("a");
  for (std::uint32_t i = 1; i < kTellAgainAfter; ++i) server.shard.send("RESERVE a 1");
  CHECK(server.shard.shard.take_view_news(PlayedShard::kThread).empty());
  server.shard.send("RESERVE a 1");
  CHECK(server.shard.shard.take_view_news(PlayedShard::kThread).size() == 1);
}

TEST_CASE("view_keeper: when the wall clock moves against the hold clock all views are withdrawn") {
  SoldOut server;
  server.shard.now.wall += kClockStepMax;
  CHECK(server.from_view("RESERVE a 2"));
  server.shard.shard.publish(server.shard.now);
  CHECK(server.published("a"));
  server.shard.now.wall += Millis(1);
  server.shard.shard.publish(server.shard.now);
  CHECK_FALSE(server.published("a"));
  server.ask("RESERVE a 2");
  CHECK(server.from_view("RESERVE a 3"));
}

TEST_CASE("view_keeper: a fenced item has no view") {
  SoldOut server;
  InventoryAccess::break_available(server.inventory(), "a", 1);
  server.shard.send("CONFIRM a 1");
  CHECK_FALSE(server.published("a"));
  CHECK(server.ask("RESERVE a 2").starts_with("-FENCED"));
  server.settle();
  CHECK_FALSE(server.published("a"));
}

TEST_CASE("view_keeper: nothing is published once the server stops, and nothing when views are off") {
  SoldOut server;
  server.shard.shard.end_waits(server.shard.now);
  CHECK_FALSE(server.published("a"));
  CHECK_FALSE(server.from_view("RESERVE a 2"));
  CHECK_FALSE(server.published("a"));

  PlayedShard off(false);
  off.ask("ITEM CREATE a STOCK 0");
  CHECK(off.ask("RESERVE a 1") == ":-1\r\n");
  CHECK_FALSE(off.shard.keep_time(off.now));
  CHECK(ViewKeeper::view_of(*InventoryAccess::item(off.shard.inventory(), "a")) == nullptr);
}
