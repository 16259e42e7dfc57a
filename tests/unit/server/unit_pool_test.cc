#include "server/unit_pool.h"

#include "tests/simulation/seeded_random.h"

#include "tests/doctest.h"

#include <cstring>
#include <map>

using namespace holdfast;

TEST_CASE("unit pool: a block that was released is the next of its size") {
  UnitPool pool(8);
  const auto first = pool.allocate(3);
  const auto second = pool.allocate(3);
  CHECK(first != second);
  pool.release(first, 3);
  CHECK(pool.allocate(2) != first);
  CHECK(pool.allocate(3) == first);
}

TEST_CASE("unit pool: blocks keep their bytes and do not overlap, whatever comes and goes around them") {
  struct Block {
    std::uint32_t units;
    unsigned char fill;
  };
  constexpr std::uint32_t kUnitBytes = 20;
  UnitPool pool(kUnitBytes);
  simulation::Dice dice(7);
  std::map<UnitPool::Handle, Block> blocks;
  for (int round = 0; round < 20'000; ++round) {
    if (blocks.size() < 300 || dice.chance(1, 2)) {
      const auto units = static_cast<std::uint32_t>(1 + dice.below(dice.chance(1, 50) ? UnitPool::kPageUnits : 12));
      const auto fill = static_cast<unsigned char>(dice.next());
      const auto handle = pool.allocate(units);
      REQUIRE(blocks.emplace(handle, Block{units, fill}).second);
      std::memset(pool.at(handle), fill, std::size_t{units} * kUnitBytes);
    } else {
      const auto at = std::next(blocks.begin(), static_cast<std::ptrdiff_t>(dice.below(blocks.size())));
      const auto* bytes = reinterpret_cast<const unsigned char*>(pool.at(at->first));
      bool whole = true;
      for (std::size_t i = 0; i < std::size_t{at->second.units} * kUnitBytes; ++i) whole &= bytes[i] == at->second.fill;
      REQUIRE(whole);
      pool.release(at->first, at->second.units);
      blocks.erase(at);
    }
  }
  for (auto block = blocks.begin(); std::next(block) != blocks.end(); ++block) {
    REQUIRE(block->first + block->second.units <= std::next(block)->first);
  }
}

TEST_CASE("unit pool: what is left of a page is used when a block of its size is wanted") {
  UnitPool pool(4);
  pool.allocate(UnitPool::kPageUnits - 5);
  const auto next_page = pool.allocate(6);
  CHECK(next_page == UnitPool::kPageUnits);
  CHECK(pool.allocate(5) == UnitPool::kPageUnits - 5);
  CHECK(pool.bytes() == 2 * std::size_t{UnitPool::kPageUnits} * 4);
}

TEST_CASE("unit pool: turns of allocating and releasing take no memory") {
  UnitPool pool(8);
  pool.release(pool.allocate(17), 17);
  const std::size_t bytes = pool.bytes();
  for (int round = 0; round < 100'000; ++round) pool.release(pool.allocate(17), 17);
  CHECK(pool.bytes() == bytes);
}
