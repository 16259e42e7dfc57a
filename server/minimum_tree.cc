#include "server/minimum_tree.h"

#include "protocol/check.h"

#include <algorithm>

namespace holdfast {

void MinimumTree::set(std::size_t leaf, Value value) {
  if (leaf >= leaves_) grow(leaf);
  std::size_t node = leaves_ + leaf;
  nodes_[node] = value;
  for (node /= 2; node > 0; node /= 2) {
    const Value smaller = std::min(nodes_[2 * node], nodes_[2 * node + 1]);
    if (nodes_[node] == smaller) return;
    nodes_[node] = smaller;
  }
}

std::size_t MinimumTree::minimum_leaf() const {
  CHECK(leaves_ > 0);
  std::size_t node = 1;
  while (node < leaves_) node = 2 * node + (nodes_[2 * node] == nodes_[node] ? 0 : 1);
  return node - leaves_;
}

void MinimumTree::grow(std::size_t leaf) {
  std::size_t leaves = std::max<std::size_t>(leaves_, 1);
  while (leaves <= leaf) leaves *= 2;
  std::vector<Value> nodes(2 * leaves, kNever);
  std::copy_n(nodes_.begin() + static_cast<std::ptrdiff_t>(leaves_), leaves_,
              nodes.begin() + static_cast<std::ptrdiff_t>(leaves));
  for (std::size_t node = leaves - 1; node > 0; --node) nodes[node] = std::min(nodes[2 * node], nodes[2 * node + 1]);
  leaves_ = leaves;
  nodes_ = std::move(nodes);
}

}  // namespace holdfast
