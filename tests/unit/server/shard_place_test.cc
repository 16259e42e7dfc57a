#include "tests/unit/server/sharded_bench.h"

#include <fmt/format.h>

#include "tests/doctest.h"

#include <set>

using namespace holdfast;
using namespace holdfast::testing;

namespace {

std::vector<std::uint64_t> numbers_given(Inventory& inventory, int items) {
  std::vector<std::uint64_t> numbers;
  for (int i = 0; i < items; ++i) {
    LoadRequest request{ItemName::from_stored("a"), {}, {}, false};
    request.version = ItemVersion(1);
    const std::string name = fmt::format("n{}", i);
    request.item = ItemName::from_stored(name);
    REQUIRE(inventory.load(request, {hold_time(1), wall_time(1), {}}).has_value());
    numbers.push_back(inventory.number_of(request.item).value());
  }
  return numbers;
}

Inventory::Settings at(std::uint16_t index, std::uint16_t count) {
  Inventory::Settings settings;
  settings.place = {ShardIndex(index), count};
  return settings;
}

std::vector<std::string> names(int count) {
  std::vector<std::string> all(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = fmt::format("i{:03}", i);
  return all;
}

}  // namespace

TEST_CASE("item numbers: each shard gives its own, from the one after the highest there was") {
  RecordTape tape;
  Inventory one({}, tape);
  CHECK(numbers_given(one, 3) == std::vector<std::uint64_t>{1, 2, 3});
  Inventory first(at(0, 3), tape);
  CHECK(numbers_given(first, 3) == std::vector<std::uint64_t>{1, 4, 7});
  Inventory last(at(2, 3), tape);
  last.number_from(ItemNumber(100));
  CHECK(numbers_given(last, 3) == std::vector<std::uint64_t>{102, 105, 108});
  CHECK(last.item_number_max() == ItemNumber(108));
}

TEST_CASE("cursors: pages of all shards hold each item once, and one shard's cursors are positions") {
  for (const std::uint16_t count : std::initializer_list<std::uint16_t>{1, 2, 3, 7, 64}) {
    CAPTURE(count);
    RecordTape tape;
    ShardedBench bench(count, tape);
    const auto items = names(60);
    std::vector<std::string> keys;
    for (const std::string& item : items) {
      REQUIRE(bench.ask("ITEM CREATE " + item + " STOCK 1") == "OK");
      keys.push_back("{" + item + "}:stock");
    }
    for (const std::string page : {"1", "7", "10000"}) {
      CHECK(bench.list("ITEM LIST CURSOR", "COUNT " + page) == items);
      CHECK(bench.list("SCAN", "COUNT " + page) == keys);
    }
    CHECK(bench.list("ITEM LIST CURSOR", "MATCH i05*").size() == 10);
    if (count == 1) CHECK(bench.run("ITEM LIST COUNT 7").items[0].text == "7");
    if (count == 1) CHECK(bench.run("SCAN 7 COUNT 3").items[0].text == "10");
    bench.ask("ITEM DROP i000");
    CHECK(bench.list("SCAN", "").size() == 59);
  }
}

TEST_CASE("cursors: one shard after the other, an empty one too") {
  RecordTape tape;
  ShardedBench bench(3, tape);
  CHECK(bench.ask("SCAN 0") == R"(["1" []])");
  CHECK(bench.ask("SCAN 1") == R"(["2" []])");
  CHECK(bench.ask("ITEM LIST CURSOR 2") == R"(["0" []])");
}

TEST_CASE("cursors: any number is one, and from it the pages end, each item at most once") {
  RecordTape tape;
  for (const std::uint16_t count : std::initializer_list<std::uint16_t>{1, 3, 64}) {
    CAPTURE(count);
    ShardedBench bench(count, tape);
    for (const std::string& item : names(40)) bench.ask("ITEM CREATE " + item + " STOCK 1");
    for (const std::uint64_t cursor : {std::uint64_t{1}, std::uint64_t{39}, std::uint64_t{40}, std::uint64_t{4711},
                                       std::uint64_t{1} << 32, UINT64_MAX - 63, UINT64_MAX - 1, UINT64_MAX}) {
      CAPTURE(cursor);
      for (const std::string command : {"SCAN", "ITEM LIST CURSOR"}) {
        const auto found = bench.list(command, "COUNT 3", fmt::format("{}", cursor));
        CHECK(std::set<std::string>(found.begin(), found.end()).size() == found.size());
      }
    }
  }
}
