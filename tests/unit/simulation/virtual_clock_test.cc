#include "tests/simulation/virtual_clock.h"

#include "tests/doctest.h"
#include "tests/simulation/seeded_random.h"

using namespace holdfast::simulation;
using namespace std::chrono_literals;

TEST_CASE("virtual_clock: both clocks advance, each can jump alone, a reboot changes the boot id") {
  VirtualClock clock;
  const auto start = clock.read();
  const auto boot_id = clock.boot_id();
  clock.advance(5s);
  clock.step_wall(-1h);
  CHECK(clock.read().boot == start.boot + 5s);
  CHECK(clock.read().wall == start.wall + 5s - 1h);
  CHECK(clock.boot_id() == boot_id);
  clock.reboot(25h);
  CHECK(clock.boot_id() != boot_id);
  CHECK(clock.read().wall == start.wall + 5s - 1h + 25h);
  CHECK(clock.read().boot < 1min);
}

TEST_CASE("seeded_random: same seed, same bytes, whatever the length") {
  std::array<std::uint8_t, 13> one{};
  std::array<std::uint8_t, 13> other{};
  SeededRandom(7).fill(one);
  SeededRandom(7).fill(other);
  CHECK(one == other);
  SeededRandom(8).fill(other);
  CHECK(one != other);
}
