// The test of the crash tests: built once for each HOLDFAST_MUTANT, a log with one known fault, which must be caught.
#include "tests/unit/storage/crash_history.h"

#include "tests/doctest.h"

namespace holdfast::test {
namespace {

constexpr std::array<std::string_view, 4> kMutants = {"", "answers before the flush", "skips the directory's sync",
                                                      "trusts the page cache after a failed flush"};
constexpr std::uint64_t kSeedsMax = 20'000;

}  // namespace

TEST_CASE("mutant: is caught") {
  HistoryCounts counts;
  for (std::uint64_t seed = 1; seed <= kSeedsMax; ++seed) {
    const auto violation = random_history(seed, counts);
    if (violation.empty()) continue;
    MESSAGE("a log that " << kMutants[HOLDFAST_MUTANT] << " is caught by seed " << seed << ": " << violation);
    return;
  }
  FAIL("a log that " << kMutants[HOLDFAST_MUTANT] << " passed " << kSeedsMax << " histories");
}

}  // namespace holdfast::test
