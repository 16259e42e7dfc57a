// The test of the tests of views: built once for each HOLDFAST_MUTANT, views with one known fault, which must be caught.
#include "tests/unit/server/view_world.h"

#include "tests/doctest.h"

#include <string_view>

using namespace holdfast::testing;

namespace {

constexpr std::uint64_t kSeedsMax = 20'000;

constexpr std::string_view fault(int mutant) {
  switch (mutant) {
    case 29:
      return "says what is not durable";
    case 30:
      return "is not withdrawn before a change";
    case 31:
      return "is believed after its time";
    case 33:
      return "misses who has just reserved";
    default:
      return {};
  }
}
static_assert(!fault(HOLDFAST_MUTANT).empty());

}  // namespace

TEST_CASE("view_mutant: is caught") {
  for (std::uint64_t seed = 1; seed <= kSeedsMax; ++seed) {
    const ViewRun run = run_random_views(seed);
    if (run.violation.empty()) continue;
    MESSAGE("a view that " << fault(HOLDFAST_MUTANT) << " is caught by seed " << seed << ": " << run.violation);
    return;
  }
  FAIL("a view that " << fault(HOLDFAST_MUTANT) << " passed " << kSeedsMax << " programs");
}
