#include "server/printable.h"

#include "tests/doctest.h"

using namespace holdfast;

TEST_CASE("printable: what people can read stays as it is") {
  CHECK(printable_name("item:1001") == "item:1001");
  CHECK(printable_name("k\xc3\xbc"
                       "che \xe2\x82\xac \xf0\x9f\x8e\x9f") ==
        "k\xc3\xbc"
        "che \xe2\x82\xac \xf0\x9f\x8e\x9f");
  CHECK(printable_name("") == "");
}

TEST_CASE("printable: percent signs, control characters and what is no UTF-8 are escaped") {
  CHECK(printable_name("50%") == "50%25");
  CHECK(printable_name(std::string_view("a\0\n\x7f", 4)) == "a%00%0A%7F");
  CHECK(printable_name("\xff\xc3") == "%FF%C3");
  CHECK(printable_name("\xc0\x80") == "%C0%80");         // overlong
  CHECK(printable_name("\xe0\x80\x80") == "%E0%80%80");  // overlong
  CHECK(printable_name("\xed\xa0\x80") == "%ED%A0%80");  // a surrogate
  CHECK(printable_name("\xc2\x85") == "%C2%85");         // a control character beyond ASCII
  CHECK(printable_name("\xf4\x90\x80\x80") == "%F4%90%80%80");
}
