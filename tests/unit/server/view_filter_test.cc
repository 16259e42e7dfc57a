#include "server/view_filter.h"

#include "tests/simulation/seeded_random.h"

#include "tests/doctest.h"

using namespace holdfast;
using simulation::Dice;

namespace {

/// Share of strangers that are taken for keys, in a filter of `capacity` keys to which `keys` were added.
double taken_for_keys(std::uint64_t capacity, std::uint64_t keys) {
  ViewFilter filter(capacity);
  Dice dice(7);
  for (std::uint64_t i = 0; i < keys; ++i) filter.add(dice.next());
  constexpr int kStrangers = 100'000;
  int taken = 0;
  for (int i = 0; i < kStrangers; ++i) taken += filter.may_contain(dice.next()) ? 1 : 0;
  return static_cast<double>(taken) / kStrangers;
}

}  // namespace

TEST_CASE("view_filter: what was added is found, also beyond what it has room for") {
  for (const std::uint64_t capacity : {1U, 48U, 100U, 10'000U}) {
    ViewFilter filter(capacity);
    CHECK(filter.capacity() >= capacity);
    Dice dice(capacity);
    for (int i = 0; i < 30'000; ++i) filter.add(dice.next());
    Dice again(capacity);
    int found = 0;
    for (int i = 0; i < 30'000; ++i) found += filter.may_contain(again.next()) ? 1 : 0;
    CHECK(found == 30'000);
  }
}

TEST_CASE("view_filter: adding again is no news, and an empty one holds nothing") {
  ViewFilter filter(100);
  CHECK_FALSE(filter.may_contain(0));
  CHECK_FALSE(filter.may_contain(UINT64_MAX));
  CHECK(filter.add(UINT64_MAX));
  CHECK_FALSE(filter.add(UINT64_MAX));
  CHECK(filter.add(0));
  CHECK(filter.may_contain(UINT64_MAX));
}

TEST_CASE("view_filter: a full one takes about one stranger in a hundred for a key, a half full one hardly any") {
  const double full = taken_for_keys(100'000, 100'000);
  const double half = taken_for_keys(100'000, 50'000);
  MESSAGE("taken for keys: " << 100 * full << "% when full, " << 100 * half << "% when half full");
  CHECK(full < 0.02);
  CHECK(half < 0.002);
  ViewFilter filter(1'000'000);
  CHECK(static_cast<double>(8 * filter.bytes()) / 1'000'000 < 12);
}
