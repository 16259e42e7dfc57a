#include "replication/claim_plan.h"

#include "replication/limits.h"

#include <algorithm>

namespace holdfast {

std::vector<const KnownItem*> ClaimPlan::due(std::vector<const KnownItem*> waiting, Millis now) {
  std::set<ItemNumber> numbers;
  for (const KnownItem* item : waiting) numbers.insert(item->facts->number);
  std::erase_if(waits_, [&](const auto& wait) { return !numbers.contains(wait.first); });
  std::erase_if(waiting, [&](const KnownItem* item) { return due_at(item->facts->number) > now; });
  std::sort(waiting.begin(), waiting.end(), [this](const KnownItem* a, const KnownItem* b) {
    const ItemNumber left = a->facts->number, right = b->facts->number;
    return std::pair(due_at(left), left) < std::pair(due_at(right), right);
  });
  return waiting;
}

void ClaimPlan::failed(ItemNumber number, Millis now) {
  Wait& wait = waits_[number];
  wait.delay = wait.delay == Millis(0) ? kClaimAgainFirst : std::min(2 * wait.delay, kClaimAgainLast);
  wait.until = now + wait.delay;
}

Millis ClaimPlan::due_at(ItemNumber number) const {
  const auto place = waits_.find(number);
  return place == waits_.end() ? Millis::min() : place->second.until;
}

}  // namespace holdfast
