#include "tests/simulation/crash_chooser.h"

#include "tests/doctest.h"

#include <array>
#include <map>

using namespace holdfast;
using namespace holdfast::simulation;

TEST_CASE("crash_chooser: the same seed makes the same choices") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    RandomCrash one(seed);
    RandomCrash other(seed);
    for (int n = 0; n < 100; ++n) {
      const auto point = n % 7 == 0 ? ChoicePoint::entry : ChoicePoint::sector;
      CHECK(one.choose(point, 4) == other.choose(point, 4));
    }
  }
}

TEST_CASE("crash_chooser: all fates occur, garbling only where allowed") {
  for (const bool garble : {false, true}) {
    std::array<int, kSectorFates> seen{};
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      RandomCrash chooser(seed, garble);
      for (int n = 0; n < 16; ++n) ++seen[chooser.choose(ChoicePoint::sector, kSectorFates)];
    }
    CHECK(seen[0] > 100);
    CHECK(seen[1] > 100);
    CHECK(seen[2] > 10);
    CHECK((seen[3] > 10) == garble);
  }
}

TEST_CASE("crash_chooser: the odometer sees every combination once") {
  EveryCrash chooser(2);
  std::map<std::array<std::uint32_t, 3>, int> seen;
  do {
    std::array<std::uint32_t, 3> choice{};
    choice[0] = chooser.choose(ChoicePoint::sector, kSectorFates);
    choice[1] = chooser.choose(ChoicePoint::size, 3);
    if (choice[1] == 2) choice[2] = chooser.choose(ChoicePoint::entry, 2);
    ++seen[choice];
  } while (chooser.next());
  CHECK(seen.size() == 8);
  CHECK(chooser.combinations_seen() == 8);
}
