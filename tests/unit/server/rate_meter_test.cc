#include "server/rate_meter.h"

#include "tests/doctest.h"

using namespace holdfast;

TEST_CASE("rate_meter: a rate is what was added between two looks that are apart") {
  RateMeter meter;
  meter.look(100, Millis(5000));
  CHECK(meter.per_second() == 0);
  meter.look(150, Millis(5100));  // too close to tell
  CHECK(meter.per_second() == 0);
  meter.look(300, Millis(7000));
  CHECK(meter.per_second() == doctest::Approx(100));
  meter.look(300, Millis(8000));
  CHECK(meter.per_second() == 0);
}
