#include "replication/claim_plan.h"

#include "replication/limits.h"

#include "tests/doctest.h"

using namespace holdfast;

namespace {

struct Waiting {
  explicit Waiting(std::uint64_t count) {
    for (std::uint64_t number = 1; number <= count; ++number) {
      auto facts = std::make_shared<ItemFacts>();
      facts->number = ItemNumber(number);
      items.push_back(KnownItem{std::move(facts), "", Refusal{ParkReason::refused, ""}, 0, Sequence()});
    }
  }

  std::vector<std::uint64_t> due(ClaimPlan& plan, Millis now) const {
    std::vector<const KnownItem*> all;
    for (auto item = items.rbegin(); item != items.rend(); ++item) all.push_back(&*item);
    std::vector<std::uint64_t> numbers;
    for (const KnownItem* item : plan.due(all, now)) numbers.push_back(item->facts->number.value());
    return numbers;
  }

  std::vector<KnownItem> items;
};

using Numbers = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("claim_plan: what failed comes later each time, up to a bound, and after what has waited longer") {
  const Waiting waiting(3);
  ClaimPlan plan;
  Millis now(0);
  CHECK(waiting.due(plan, now) == Numbers{1, 2, 3});
  plan.failed(ItemNumber(2), now);
  CHECK(waiting.due(plan, now) == Numbers{1, 3});
  now += kClaimAgainFirst;
  plan.failed(ItemNumber(1), now);
  CHECK(waiting.due(plan, now) == Numbers{3, 2});
  CHECK(waiting.due(plan, now + kClaimAgainFirst) == Numbers{3, 2, 1});
  for (Millis delay = 2 * kClaimAgainFirst; delay < 4 * kClaimAgainLast; delay *= 2) {
    plan.failed(ItemNumber(2), now);
    const Millis due = now + std::min(delay, kClaimAgainLast);
    CHECK(waiting.due(plan, due - Millis(1)) == (due > now + kClaimAgainFirst ? Numbers{3, 1} : Numbers{3}));
    CHECK(waiting.due(plan, due).size() == 3);
    now = due;
  }
}

TEST_CASE("claim_plan: when one has its row, all are due; who waits no more is forgotten") {
  const Waiting waiting(3);
  ClaimPlan plan;
  for (std::uint64_t number = 1; number <= 3; ++number) plan.failed(ItemNumber(number), Millis(0));
  CHECK(waiting.due(plan, Millis(1)).empty());
  plan.succeeded();
  CHECK(waiting.due(plan, Millis(1)) == Numbers{1, 2, 3});
  plan.failed(ItemNumber(3), Millis(1));
  CHECK(Waiting(2).due(plan, Millis(1)) == Numbers{1, 2});
  CHECK(waiting.due(plan, Millis(1)) == Numbers{1, 2, 3});
}
