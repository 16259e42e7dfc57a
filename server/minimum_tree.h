// The smallest of a row of numbers that change: a tournament tree. Setting one costs log2(n), asking for the smallest
// nothing. Doubling copies the leaves, so it is for thousands of leaves, not for millions. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace holdfast {

class MinimumTree {
 public:
  using Value = std::uint64_t;
  static constexpr Value kNever = std::numeric_limits<Value>::max();

  /// Leaves are kNever until they are set; setting one beyond the end grows the tree.
  void set(std::size_t leaf, Value value);
  Value at(std::size_t leaf) const noexcept { return leaf < leaves_ ? nodes_[leaves_ + leaf] : kNever; }
  /// kNever when all leaves are.
  Value minimum() const noexcept { return leaves_ == 0 ? kNever : nodes_[1]; }
  /// The first leaf that has the minimum. REQUIRES: at least one leaf was set.
  std::size_t minimum_leaf() const;
  std::size_t bytes() const noexcept { return nodes_.capacity() * sizeof(Value); }

 private:
  void grow(std::size_t leaf);

  std::size_t leaves_ = 0;    // a power of two, or none
  std::vector<Value> nodes_;  // node i is the smaller of 2i and 2i + 1; the leaves begin at leaves_
};

}  // namespace holdfast
