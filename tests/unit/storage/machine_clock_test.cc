#include "storage/machine_clock.h"

#include "tests/doctest.h"

#include <algorithm>
#include <vector>

using namespace holdfast;

TEST_CASE("machine_clock: boot time runs forward, wall time is this century, the boot id stays") {
  MachineClock clock;
  const auto first = clock.read();
  const auto second = clock.read();
  CHECK(second.boot >= first.boot);
  CHECK(first.boot.count() > 0);
  CHECK(first.wall > std::chrono::hours(24 * 365 * 50));
  CHECK(clock.boot_id() == MachineClock().boot_id());
  CHECK(clock.boot_id() != BootId{});
}

TEST_CASE("machine_clock: randomness fills all of a long span, differently each time") {
  std::vector<std::uint8_t> one(100'000);
  std::vector<std::uint8_t> other(100'000);
  MachineRandom().fill(one);
  MachineRandom().fill(other);
  CHECK(one != other);
  CHECK(std::count(one.end() - 1000, one.end(), 0) < 50);
}
