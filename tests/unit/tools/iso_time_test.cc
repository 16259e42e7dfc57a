#include "tools/iso_time.h"

#include "tests/doctest.h"

using namespace holdfast;

namespace {

std::int64_t ms(std::string_view text) {
  const auto time = parse_time(text);
  return time ? to_ms(*time) : -1;
}

}  // namespace

TEST_CASE("times: what is written is read again") {
  CHECK(iso_time(wall_time(0)) == "1970-01-01T00:00:00.000Z");
  CHECK(iso_time(wall_time(1'800'000'000'123)) == "2027-01-15T08:00:00.123Z");
  CHECK(iso_time(wall_time(253'402'300'800'000)) == "253402300800000");
  for (const std::int64_t time : {0L, 1L, 951'782'400'000L, 1'800'000'000'123L, 253'402'300'799'999L}) {
    CHECK(ms(iso_time(wall_time(time))) == time);
    CHECK(ms(std::to_string(time)) == time);
  }
}

TEST_CASE("times: shorter forms and offsets") {
  CHECK(ms("2027-01-15T08:00:00Z") == 1'800'000'000'000);
  CHECK(ms("2027-01-15 08:00") == 1'800'000'000'000);
  CHECK(ms("2027-01-15") == 1'800'000'000'000 - 8 * 3'600'000);
  CHECK(ms("2027-01-15T09:30:00.5+01:30") == 1'800'000'000'500);
  CHECK(ms("2027-01-15T07:00-01:00") == 1'800'000'000'000);
  CHECK(ms("2027-01-15T08:00:00.123456Z") == 1'800'000'000'123);
}

TEST_CASE("times: nonsense is refused") {
  for (const char* text :
       {"", "now", "2027-13-01", "2027-02-30", "2027-01-15T", "2027-01-15T8:00", "2027-01-15T24:00", "2027-01-15T08:60",
        "2027-01-15T08:00:00.", "2027-01-15T08:00:00ZZ", "2027-01-15T08:00+1:00", "-5", "01", "1.5", "2027-01-15x"}) {
    CAPTURE(text);
    CHECK(ms(text) == -1);
  }
}
