#include "replication/topic_difference.h"

#include "replication/limits.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <tuple>

namespace holdfast {
namespace {

constexpr TopicDifferenceKindEntry kKinds[] = {
#define HOLDFAST_TOPIC_DIFFERENCE(kind, name, what, person) {name, what, person},
#include "replication/difference_kinds.def"
};

}  // namespace

std::span<const TopicDifferenceKindEntry> topic_difference_kinds() noexcept { return kKinds; }

void TopicDifferences::add(TopicDifference difference) {
  ++count_;
  ++counts_[static_cast<std::size_t>(difference.kind)];
  if (kept_.size() < kDifferencesMax) kept_.push_back(std::move(difference));
}

void TopicDifferences::add(TopicDifferences others) {
  count_ += others.count_;
  std::transform(counts_.begin(), counts_.end(), others.counts_.begin(), counts_.begin(), std::plus<>());
  const std::size_t room = kDifferencesMax - kept_.size();
  const auto last = others.kept_.begin() + static_cast<std::ptrdiff_t>(std::min(room, others.kept_.size()));
  std::move(others.kept_.begin(), last, std::back_inserter(kept_));
}

void TopicDifferences::sort() {
  std::stable_sort(kept_.begin(), kept_.end(), [](const TopicDifference& a, const TopicDifference& b) {
    return std::tie(a.role, a.item, a.version, a.sequence, a.place) <
           std::tie(b.role, b.item, b.version, b.sequence, b.place);
  });
}

}  // namespace holdfast
