#include "server/minimum_tree.h"

#include "tests/simulation/seeded_random.h"

#include "tests/doctest.h"

#include <algorithm>

using namespace holdfast;

TEST_CASE("minimum tree: an empty one has no minimum, a leaf that was never set is never") {
  MinimumTree tree;
  CHECK(tree.minimum() == MinimumTree::kNever);
  CHECK(tree.at(5) == MinimumTree::kNever);
  tree.set(0, 3);
  CHECK(tree.minimum() == 3);
  CHECK(tree.minimum_leaf() == 0);
  CHECK(tree.at(1) == MinimumTree::kNever);
}

TEST_CASE("minimum tree: the first of equal leaves is the minimum's") {
  MinimumTree tree;
  tree.set(6, 9);
  tree.set(2, 9);
  CHECK(tree.minimum_leaf() == 2);
  tree.set(2, 10);
  CHECK(tree.minimum_leaf() == 6);
  tree.set(6, MinimumTree::kNever);
  CHECK(tree.minimum_leaf() == 2);
}

TEST_CASE("minimum tree: agrees with a plain row of numbers while it is set and grows") {
  MinimumTree tree;
  std::vector<MinimumTree::Value> row;
  simulation::Dice dice(11);
  for (int round = 0; round < 20'000; ++round) {
    const std::size_t leaf = dice.below(1 + static_cast<std::uint64_t>(round) / 20);
    const MinimumTree::Value value = dice.chance(1, 4) ? MinimumTree::kNever : dice.below(1'000);
    if (leaf >= row.size()) row.resize(leaf + 1, MinimumTree::kNever);
    row[leaf] = value;
    tree.set(leaf, value);
    const auto smallest = std::min_element(row.begin(), row.end());
    REQUIRE(tree.minimum() == *smallest);
    REQUIRE(tree.minimum_leaf() == static_cast<std::size_t>(smallest - row.begin()));
    REQUIRE(tree.at(leaf) == value);
  }
}
