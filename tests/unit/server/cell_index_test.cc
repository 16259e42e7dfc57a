#include "server/cell_index.h"

#include "tests/simulation/seeded_random.h"

#include "tests/doctest.h"

#include <map>
#include <vector>

using namespace holdfast;

namespace {

/// An index of keys whose cells are positions in a table of keys, beside a std::map that says what must be there.
class Checked {
 public:
  explicit Checked(std::uint64_t hash_mask) : mask_(hash_mask) {}

  void insert(std::uint64_t key) {
    keys_.push_back(key);
    const auto cell = static_cast<std::uint32_t>(keys_.size() - 1);
    index_.insert(hash(key), cell, [this](std::uint32_t value) { return hash(keys_[value]); });
    expected_[key] = cell;
  }
  void erase(std::uint64_t key) {
    index_.erase(hash(key), expected_.at(key));
    expected_.erase(key);
  }
  /// The key gets another cell.
  void replace(std::uint64_t key) {
    keys_.push_back(key);
    const auto cell = static_cast<std::uint32_t>(keys_.size() - 1);
    index_.replace(hash(key), expected_.at(key), cell);
    expected_[key] = cell;
  }
  std::optional<std::uint32_t> find(std::uint64_t key) const {
    return index_.find(hash(key), [&](std::uint32_t value) { return keys_[value] == key; });
  }
  bool agrees(std::uint64_t key) const {
    const auto expected = expected_.find(key);
    return find(key) == (expected == expected_.end() ? std::nullopt : std::optional(expected->second));
  }
  bool agrees() const {
    bool agrees = index_.size() == expected_.size();
    for (const auto& [key, cell] : expected_) agrees = agrees && find(key) == cell;
    return agrees;
  }
  const std::map<std::uint64_t, std::uint32_t>& expected() const { return expected_; }
  CellIndex& index() { return index_; }
  CellPool& pool() { return pool_; }

 private:
  std::uint64_t hash(std::uint64_t key) const { return simulation::Dice(key).next() & mask_; }

  std::uint64_t mask_;
  CellPool pool_;
  CellIndex index_{pool_};
  std::vector<std::uint64_t> keys_;
  std::map<std::uint64_t, std::uint32_t> expected_;
};

void play(Checked& checked, std::uint64_t seed, int rounds, std::uint64_t key_max) {
  simulation::Dice dice(seed);
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t key = dice.below(key_max);
    if (!checked.expected().contains(key)) {
      checked.insert(key);
    } else if (dice.chance(1, 3)) {
      checked.replace(key);
    } else {
      checked.erase(key);
    }
    REQUIRE(checked.agrees(key));
    REQUIRE(checked.agrees(dice.below(key_max)));
  }
  REQUIRE(checked.agrees());
}

}  // namespace

TEST_CASE("cell index: an empty one finds nothing") {
  Checked checked(UINT64_MAX);
  CHECK(checked.agrees(1));
  CHECK(checked.index().size() == 0);
}

TEST_CASE("cell index: finds what a map finds, whatever is inserted, replaced and erased") {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    Checked checked(UINT64_MAX);
    play(checked, seed, 30'000, 3'000);
  }
}

TEST_CASE("cell index: nothing is lost while it grows by splits, and nothing when it empties again") {
  Checked checked(UINT64_MAX);
  for (std::uint64_t key = 0; key < 40'000; ++key) {
    checked.insert(key);
    REQUIRE(checked.agrees(key / 2));
  }
  REQUIRE(checked.agrees());
  CHECK(checked.index().directory_bytes() > 64 * 8);
  for (std::uint64_t key = 0; key < 40'000; ++key) checked.erase(key);
  CHECK(checked.agrees());
  CHECK(checked.agrees(17));
}

TEST_CASE("cell index: keys of one hash, or of one tag, are told apart by the caller") {
  Checked one_hash(0);
  play(one_hash, 4, 3'000, 200);
  Checked one_tag(0x00ffffffffffffff);
  play(one_tag, 5, 10'000, 2'000);
  Checked one_bucket(0xff00000000000000);
  play(one_bucket, 6, 3'000, 400);
}

TEST_CASE("cell index: taking it down step by step shows each value once") {
  CellPool pool;
  CellIndex index(pool);
  const auto hash_of = [](std::uint32_t value) { return simulation::Dice(value).next(); };
  for (std::uint32_t value = 0; value < 5'000; ++value) index.insert(hash_of(value), value, hash_of);
  std::vector<int> seen(5'000);
  int steps = 1;
  while (!index.release_some(7, [&](std::uint32_t value) { ++seen[value]; })) ++steps;
  CHECK(steps > 10);
  for (const int times : seen) REQUIRE(times == 1);
}

TEST_CASE("cell index: what comes and goes in turn takes no memory") {
  Checked checked(UINT64_MAX);
  for (std::uint64_t key = 0; key < 1'000; ++key) checked.insert(key);
  checked.insert(5'000);
  checked.erase(5'000);
  const std::size_t bytes = checked.pool().bytes() + checked.index().directory_bytes();
  for (int round = 0; round < 10'000; ++round) {
    checked.insert(5'000);
    checked.erase(5'000);
  }
  CHECK(checked.pool().bytes() + checked.index().directory_bytes() == bytes);
}
