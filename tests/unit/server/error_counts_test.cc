#include "server/error_counts.h"

#include "server/limits.h"
#include "tests/doctest.h"

using namespace holdfast;

TEST_CASE("error_counts: replies count by their first word") {
  ErrorCounts counts;
  for (const auto* reply : {"-ERR x\r\n", "-NOITEM y\r\n", "-ERR z\r\n", "-EXECABORT\r\n"}) counts.add(reply);
  REQUIRE(counts.counts().size() == 3);
  CHECK(counts.counts()[0].code == "ERR");
  CHECK(counts.counts()[0].count == 2);
  CHECK(counts.counts()[2].code == "EXECABORT");
}

TEST_CASE("error_counts: codes without end do not grow it") {
  ErrorCounts counts;
  for (std::size_t i = 0; i < 2 * kErrorCodesMax; ++i) counts.add("-CODE" + std::to_string(i) + " x\r\n");
  CHECK(counts.counts().size() == kErrorCodesMax);
  counts.add("-" + std::string(kErrorCodeBytesMax + 1, 'X') + " x\r\n");
  CHECK(counts.counts().size() == kErrorCodesMax);
}
