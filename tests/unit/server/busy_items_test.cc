#include "server/busy_items.h"

#include "tests/doctest.h"

using namespace holdfast;

TEST_CASE("busy items: the most asked for come first") {
  BusyItems busy;
  busy.note(1, ItemNumber(11), 5);
  busy.note(2, ItemNumber(12), 64);
  busy.note(1, ItemNumber(11), 60);
  const auto ranking = busy.ranking();
  REQUIRE(ranking.size() == 2);
  CHECK(ranking[0].item == ItemNumber(11));
  CHECK(ranking[0].index == 1);
  CHECK(ranking[0].count == 65);
}

TEST_CASE("busy items: a busy one stays while any number of others pass") {
  BusyItems busy;
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    busy.note(i, ItemNumber(1000 + i), 1);
    if (i % 10 == 0) busy.note(7, ItemNumber(7), 1);
  }
  CHECK(busy.ranking().size() == BusyItems::kPlaces);
  CHECK(busy.ranking()[0].item == ItemNumber(7));
}

TEST_CASE("busy items: what was busy long ago gives way") {
  BusyItems busy;
  busy.note(1, ItemNumber(1), 1 << 20);
  for (int i = 0; i < 6; ++i) busy.note(2, ItemNumber(2), 1 << 20);
  CHECK(busy.ranking()[0].item == ItemNumber(2));
}
