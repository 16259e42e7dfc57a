#include "server/router.h"

#include "tests/unit/server/step_bench.h"

#include <fmt/format.h>

#include "tests/doctest.h"

#include <set>

using namespace holdfast;
using namespace holdfast::testing;

namespace {

using Kind = Route::Kind;

/// The route of a line, which lives while it is looked for.
Route route(const Router& router, std::string_view line) {
  const auto texts = split_words(line);
  const std::vector<std::string_view> words(texts.begin(), texts.end());
  return router.route(*find_command(words).value(), words);
}

Route to(const Router& router, std::string_view item) {
  return {Kind::one, router.owner(ItemName::parse(item).value())};
}

Route message(const Router& router, CommandId id, std::string_view second) {
  const std::string_view words[] = {"first", second};
  return router.route(command_table()[static_cast<std::size_t>(id)], words);
}

/// An item that this shard owns.
std::string item_of(const Router& router, std::uint16_t shard) {
  for (int i = 0;; ++i) {
    std::string name = fmt::format("i{}", i);
    if (router.owner(ItemName::parse(name).value()).value() == shard) return name;
  }
}

}  // namespace

TEST_CASE("router: slots are dealt in order, to shards as equal as can be") {
  for (std::uint16_t count = 1; count <= 64; ++count) {
    CAPTURE(count);
    const Router router(count);
    std::set<std::uint16_t> seen;
    for (int i = 0; i < 4000; ++i) {
      const std::string name = fmt::format("item:{}", i);
      const ItemName item = ItemName::from_stored(name);
      const ShardIndex owner = router.owner(item);
      REQUIRE(owner.value() == item.slot() * count / 16384);
      seen.insert(owner.value());
    }
    CHECK(seen.size() == count);
    CHECK(*seen.rbegin() == count - 1);
  }
  CHECK(Router(16384).owner(ItemName::from_stored("foo")) == ShardIndex(12182));
}

TEST_CASE("router: one item has one owner, however it is written and whatever is asked of it") {
  for (const std::uint16_t count : std::initializer_list<std::uint16_t>{2, 3, 7, 64}) {
    CAPTURE(count);
    const Router router(count);
    for (int i = 0; i < 200; ++i) {
      const std::string item = fmt::format("item:{}", i);
      const Route owner = to(router, item);
      for (const char* line : {"RESERVE {} u",
                               "RESERVE {{{}}} u",
                               "CONFIRM {} u",
                               "RELEASE {} u",
                               "RESERVATION GET {} USER u",
                               "RESERVATION LIST {{{}}}",
                               "ITEM GET {}",
                               "ITEM LOAD {} VERSION 1 STOCK 1",
                               "ITEM RETURNS {} HOLD",
                               "ITEM VERIFY {{{}}}",
                               "GET {}:stock",
                               "GET {{{}}}:stock",
                               "SET {{{}}}:stock 1",
                               "SISMEMBER {{{}}}:buyers u",
                               "SADD {{{}}}:buyers u v w",
                               "SSCAN {}:buyers 0",
                               "EXISTS {{{}}}:stock",
                               "DEL {{{}}}:buyers",
                               "MSET {{{}}}:stock 1",
                               "MEMORY USAGE {{{}}}:stock",
                               "OBJECT ENCODING {{{}}}:buyers",
                               "TTL {}:stock"}) {
        CAPTURE(line);
        CHECK(route(router, fmt::format(fmt::runtime(line), item)) == owner);
      }
    }
  }
}

TEST_CASE("router: the items of a sale, and their keys, are with the hash tag") {
  const Router router(64);
  const Route owner = to(router, "sale:77");
  for (const char* line : {"RESERVE {sale:77}item:1 u", "RESERVE {sale:77}item:2 u", "GET {sale:77}item:3:stock",
                           "SCARD {sale:77}item:3:buyers", "RESERVE sale:77 u", "RESERVE {sale:77} u",
                           "RESERVE x{sale:77}y{other} u", "MGET {sale:77}a:stock {sale:77}b:stock sale:77:stock"}) {
    CAPTURE(line);
    CHECK(route(router, line) == owner);
  }
  // No tag: empty braces, or none that close.
  for (const char* name : {"{}a", "{a", "a}b", "{}{a}"}) {
    CAPTURE(name);
    CHECK(to(router, name).shard.value() == ItemName::from_stored(name).slot() / 256);
  }
  CHECK(to(router, "{}{a}") != to(router, "a"));
}

TEST_CASE("router: what names no item or key goes to the first shard, whose step says so") {
  const Router router(64);
  const Route first{};
  CHECK(route(router, "RESERVE {} u") == first);
  CHECK(route(router, "RESERVE \"\" u") == first);
  CHECK(route(router, "RESERVE " + std::string(129, 'a') + " u") == first);
  CHECK(route(router, "GET foo") == first);
  CHECK(route(router, "GET :stock") == first);
  CHECK(route(router, "GET {}:stock") == first);
  CHECK(route(router, "GET item:stocks") == first);
  CHECK(route(router, "GET " + std::string(64'000, 'a') + ":stock") == first);
}

TEST_CASE("router: what is about all items goes to all shards") {
  const Router router(3);
  CHECK(route(router, "DBSIZE").kind == Kind::all);
  CHECK(route(router, "ITEM VERIFY *").kind == Kind::all);
  CHECK(route(router, "ITEM RETURNS * HOLD").kind == Kind::all);
  CHECK(route(router, "ITEM RETURNS * NONSENSE").kind == Kind::all);
  // An item of that name.
  CHECK(route(router, "ITEM VERIFY {*}") == to(router, "*"));
  CHECK(route(router, "ITEM GET *") == to(router, "*"));
}

TEST_CASE("router: keys of several owners are several, keys of one are one") {
  const Router router(2);
  const std::string a = item_of(router, 0) + ":stock";
  const std::string b = item_of(router, 1) + ":stock";
  for (const std::string command : {"EXISTS", "TOUCH", "DEL", "UNLINK", "MGET"}) {
    CAPTURE(command);
    CHECK(route(router, fmt::format("{} {}", command, b)) == Route{Kind::one, ShardIndex(1)});
    CHECK(route(router, fmt::format("{} {} {}", command, b, b)) == Route{Kind::one, ShardIndex(1)});
    CHECK(route(router, fmt::format("{} {} {}", command, b, a)).kind == Kind::several);
    CHECK(route(router, fmt::format("{} {} {} foreign", command, b, b)).kind == Kind::several);
    CHECK(route(router, fmt::format("{} {} foreign", command, a)) == Route{Kind::one, ShardIndex(0)});
  }
  // The step refuses several, and does so at any shard.
  CHECK(route(router, "MSET " + b + " 1 " + a + " 2") == Route{Kind::one, ShardIndex(1)});
  CHECK(route(router, "MSETNX " + b + " 1 " + a + " 2") == Route{Kind::one, ShardIndex(1)});
}

TEST_CASE("router: a cursor goes to the shard it points to, nonsense to the first") {
  const Router router(5);
  const auto at = [](std::uint16_t shard) { return Route{Kind::one, ShardIndex(shard)}; };
  CHECK(route(router, "SCAN 0") == at(0));
  CHECK(route(router, "SCAN 13 COUNT 5") == at(3));
  CHECK(route(router, "SCAN 18446744073709551614") == at(4));
  CHECK(route(router, "SCAN 18446744073709551616") == at(0));
  CHECK(route(router, "SCAN -1") == at(0));
  CHECK(route(router, "ITEM LIST") == at(0));
  CHECK(route(router, "ITEM LIST CURSOR 13") == at(3));
  CHECK(route(router, "ITEM LIST MATCH CURSOR cursor 12 COUNT 3") == at(2));
  CHECK(route(router, "ITEM LIST MATCH CURSOR COUNT 13") == at(0));
  CHECK(route(router, "ITEM LIST CURSOR 13 COUNT") == at(0));
  CHECK(message(router, CommandId::subscribe, "14") == at(4));
}

TEST_CASE("router: a transaction and a watch go to their item's owner") {
  for (const std::uint16_t count : std::initializer_list<std::uint16_t>{1, 2, 64}) {
    const Router router(count);
    for (const std::string_view item : {"a", "{s}b", "{a", "{{a}}"}) {
      CHECK(message(router, CommandId::exec, item) == to(router, item));
      CHECK(message(router, CommandId::watch, item) == to(router, item));
    }
    CHECK(message(router, CommandId::exec, "") == Route{});
  }
}

TEST_CASE("router: with one shard everything is its, and nothing is looked at") {
  const Router router(1);
  for (const char* line : {"DBSIZE", "ITEM VERIFY *", "SCAN 77", "MGET a:stock b:stock", "RESERVE i u"}) {
    CAPTURE(line);
    CHECK(route(router, line) == Route{});
  }
}
