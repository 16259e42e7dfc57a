#include "tests/unit/storage/log_fixture.h"

#include "tests/doctest.h"

namespace holdfast::test {

TEST_CASE("log: what was committed is found after a restart, over several segments") {
  SimulatedDisk disk;
  VirtualClock clock;
  Lines expected;
  for (int life = 0; life < 4; ++life) {
    LogDriver driver(disk, clock, static_cast<std::uint64_t>(life) + 1);
    REQUIRE(said(driver.open()) == "");
    CHECK(driver.lines == expected);
    CHECK(driver.recovered.created == (life == 0));
    CHECK(driver.log->incarnation() == static_cast<std::uint64_t>(life) + 1);
    for (int batch = 0; batch < 30; ++batch) {
      REQUIRE(said(driver.write(8)) == "");
      REQUIRE(said(driver.tick()) == "");
    }
    CHECK(driver.log->durable_lsn() == driver.log->written_lsn());
    expected = driver.lines;
  }
  CHECK(disk.names_in("/data/log").size() > 6);
}

}  // namespace holdfast::test
