#include "tests/random_runs.h"
#include "tests/unit/storage/crash_history.h"

#include "tests/doctest.h"

#include <chrono>

namespace holdfast::test {
namespace {

constexpr int kBatches = 10;

/// How many calls a life makes.
std::uint64_t calls_of_life(CrashHistory history) {
  const auto before = history.disk.counters().calls();
  (void)history.live(kBatches);
  return history.disk.counters().calls() - before;
}

}  // namespace

TEST_CASE("crash: after every call of a life, and after every call of the next one, nothing acknowledged is lost") {
  std::uint64_t runs = 0;
  CrashHistory fresh(1);
  const auto calls = calls_of_life(fresh);
  for (std::uint64_t first = 1; first <= calls + 1; ++first) {
    CrashHistory once(fresh);
    once.disk.crash_at(first);
    auto end = once.live(kBatches);
    REQUIRE(end.violation == "");
    once.cut_power(first, false);
    const auto calls_again = calls_of_life(once);
    for (std::uint64_t second = 1; second <= calls_again + 1; second += (first % 3 + 1) * kThinning) {
      CAPTURE(first);
      CAPTURE(second);
      CrashHistory twice(once);
      twice.disk.crash_at(second);
      end = twice.live(kBatches);
      REQUIRE(end.violation == "");
      REQUIRE(end.refusal == "");
      twice.cut_power(first * 1000 + second, false);
      end = twice.live(1);
      REQUIRE(end.violation == "");
      REQUIRE(end.refusal == "");
      ++runs;
    }
  }
  MESSAGE(calls << " calls in a life, " << runs << " pairs of crashes");
  CHECK(calls > 50);
}

// One seed: HOLDFAST_SEED=n HOLDFAST_RUNS=1 storage_tests -tc="crash: random*"
TEST_CASE("crash: random histories of crashes, kills and failed flushes") {
  const std::uint64_t seed = number_from_environment("HOLDFAST_SEED", 1);
  const std::uint64_t runs = number_from_environment("HOLDFAST_RUNS", 2000 / kThinning);
  HistoryCounts counts;
  const auto began = std::chrono::steady_clock::now();
  for (std::uint64_t run = 0; run < runs; ++run) {
    CAPTURE(seed + run);
    REQUIRE(random_history(seed + run, counts) == "");
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  MESSAGE(counts.deaths << " deaths in " << runs << " histories in " << took.count() << " s, "
                        << static_cast<double>(counts.deaths) / took.count() * 60 << " a minute; " << counts.refused
                        << " refused as rot (garbled sectors)");
  CHECK(counts.refused <= runs / 20 + 1);
}

TEST_CASE("crash: with everysec and never what was flushed survives, and nothing else than a prefix") {
  for (const auto fsync : {FsyncPolicy::everysec, FsyncPolicy::never}) {
    for (std::uint64_t seed = 1; seed <= 300 / kThinning; ++seed) {
      CAPTURE(seed);
      CrashHistory history(seed, fsync);
      for (int life = 0; life < 3; ++life) {
        history.disk.crash_at(20 + seed * 7 % 61 * static_cast<std::uint64_t>(life + 1));
        auto end = history.live(12);
        REQUIRE(end.violation == "");
        REQUIRE(end.refusal == "");
        history.cut_power(seed * 10 + static_cast<std::uint64_t>(life), false);
      }
      const auto end = history.live(1);
      REQUIRE(end.violation == "");
      REQUIRE(end.refusal == "");
    }
  }
}

}  // namespace holdfast::test
