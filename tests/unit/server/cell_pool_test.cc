#include "server/cell_pool.h"

#include "tests/simulation/seeded_random.h"

#include "tests/doctest.h"

#include <cstring>
#include <memory>

using namespace holdfast;

namespace {

/// A block whose content says whose it is.
struct Block {
  CellPool::Handle handle = 0;
  std::uint32_t units = 0;
  std::uint8_t mark = 0;

  void take(CellPool& pool, std::uint32_t wanted, std::uint8_t byte) {
    units = wanted;
    mark = byte;
    pool.allocate(units, handle);
    std::memset(pool.at(handle), mark, std::size_t{units} * CellPool::kUnitBytes);
  }
  bool intact(const CellPool& pool) const {
    const std::byte* at = pool.at(handle);
    for (std::size_t i = 0; i < std::size_t{units} * CellPool::kUnitBytes; ++i) {
      if (std::to_integer<std::uint8_t>(at[i]) != mark) return false;
    }
    return true;
  }
};

}  // namespace

TEST_CASE("cell pool: blocks keep their content while others come, go and move") {
  simulation::Dice dice(11);
  CellPool pool;
  std::vector<std::unique_ptr<Block>> blocks;
  for (int round = 0; round < 60'000; ++round) {
    if (blocks.empty() || dice.chance(round < 30'000 ? 3 : 2, 5)) {
      blocks.push_back(std::make_unique<Block>());
      blocks.back()->take(pool, static_cast<std::uint32_t>(1 + dice.below(24)), static_cast<std::uint8_t>(round));
    } else {
      std::swap(blocks[dice.below(blocks.size())], blocks.back());
      REQUIRE(blocks.back()->intact(pool));
      pool.release(blocks.back()->handle, blocks.back()->units);
      blocks.pop_back();
    }
  }
  for (const auto& block : blocks) REQUIRE(block->intact(pool));
}

TEST_CASE("cell pool: memory of one size serves all sizes") {
  CellPool pool;
  std::vector<std::unique_ptr<Block>> blocks(5'000);
  std::size_t bytes = 0;
  for (const std::uint32_t units : {4U, 3U, 2U, 1U}) {
    for (auto& block : blocks) {
      block = std::make_unique<Block>();
      block->take(pool, units, 1);
    }
    for (auto& block : blocks) pool.release(block->handle, units);
    if (bytes == 0) bytes = pool.bytes();
    CHECK(pool.bytes() == bytes);
  }
}

TEST_CASE("cell pool: the largest block has a page to itself") {
  CellPool pool;
  Block first;
  Block second;
  first.take(pool, CellPool::kUnitsMax, 1);
  second.take(pool, CellPool::kUnitsMax, 2);
  CHECK(pool.bytes() == 2 * CellPool::kPageBytes);
  pool.release(first.handle, first.units);
  CHECK(second.intact(pool));
}
