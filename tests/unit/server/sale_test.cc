#include "server/sale.h"

#include "tests/simulation/seeded_random.h"

#include "tests/doctest.h"

#include <map>

using namespace holdfast;

namespace {

UserId user(std::string_view text) { return UserId::parse(text).value(); }

}  // namespace

TEST_CASE("sale: units of a user add up over items and leave nothing when all are gone") {
  RowPools pools(1);
  Sale sale(pools, "sale:77");
  CHECK(sale.tag() == "sale:77");
  CHECK(sale.units(user("u")) == 0);
  sale.add(user("u"), ItemNumber(1), RowSlot(5), 2);
  sale.add(user("u"), ItemNumber(2), RowSlot(5), kStockMax);
  sale.add(user("v"), ItemNumber(1), RowSlot(6), 1);
  CHECK(sale.units(user("u")) == kStockMax + 2);
  CHECK(sale.units(user("v")) == 1);
  sale.remove(user("u"), ItemNumber(2), RowSlot(5), kStockMax);
  sale.remove(user("u"), ItemNumber(1), RowSlot(5), 2);
  sale.remove(user("v"), ItemNumber(1), RowSlot(6), 1);
  CHECK(sale.units(user("u")) == 0);
}

TEST_CASE("sale: the item of the newest reservation is known until that one ends") {
  RowPools pools(1);
  Sale sale(pools, "s");
  CHECK(sale.newest_item(user("u")) == ItemNumber());
  sale.add(user("u"), ItemNumber(1), RowSlot(0), 1);
  sale.add(user("u"), ItemNumber(2), RowSlot(0), 1);
  CHECK(sale.newest_item(user("u")) == ItemNumber(2));
  sale.remove(user("u"), ItemNumber(1), RowSlot(0), 1);
  CHECK(sale.newest_item(user("u")) == ItemNumber(2));
  sale.add(user("u"), ItemNumber(3), RowSlot(9), 1);
  sale.remove(user("u"), ItemNumber(3), RowSlot(9), 1);
  CHECK(sale.newest_item(user("u")) == ItemNumber());
  sale.remove(user("u"), ItemNumber(2), RowSlot(0), 1);
}

TEST_CASE("sale: agrees with a map over many users") {
  RowPools pools(1);
  Sale sale(pools, "s");
  simulation::Dice dice(3);
  std::map<std::uint64_t, std::vector<std::int64_t>> expected;
  const auto text = [](std::uint64_t number) { return (number % 2 == 0 ? "user " : "") + std::to_string(number); };
  for (int round = 0; round < 30'000; ++round) {
    const std::uint64_t number = dice.below(2'000);
    auto& quantities = expected[number];
    if (quantities.empty() || dice.chance(1, 2)) {
      quantities.push_back(static_cast<std::int64_t>(1 + dice.below(9)));
      sale.add(user(text(number)), ItemNumber(1), RowSlot(0), quantities.back());
    } else {
      sale.remove(user(text(number)), ItemNumber(1), RowSlot(0), quantities.back());
      quantities.pop_back();
    }
    std::int64_t units = 0;
    for (const auto quantity : quantities) units += quantity;
    REQUIRE(sale.units(user(text(number))) == units);
  }
  for (const auto& [number, quantities] : expected) {
    for (const auto quantity : quantities) sale.remove(user(text(number)), ItemNumber(1), RowSlot(0), quantity);
  }
}
