#include "protocol/outside_text.h"

#include "tests/doctest.h"

using holdfast::inside_bytes;
using holdfast::outside_text;

TEST_CASE("outside_text: printable UTF-8 stays, all else and the percent sign are escaped") {
  CHECK(outside_text("item:1001 {sale}\"\\") == "item:1001 {sale}\"\\");
  CHECK(outside_text("50%") == "50%25");
  CHECK(outside_text(std::string_view("a\0b\n\x7f", 5)) == "a%00b%0A%7F");
  CHECK(outside_text("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80") == "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
  CHECK(outside_text("\xc2\x85") == "%C2%85");                       // C1
  CHECK(outside_text("\xc0\xaf\xe0\x80\xaf") == "%C0%AF%E0%80%AF");  // overlong
  CHECK(outside_text("\xed\xa0\x80") == "%ED%A0%80");                // a surrogate
  CHECK(outside_text("\xf4\x90\x80\x80") == "%F4%90%80%80");         // above U+10FFFF
  CHECK(outside_text("\xe2\x82") == "%E2%82");                       // cut off
  CHECK(outside_text("\xff\x80") == "%FF%80");
  CHECK(outside_text("") == "");
}

TEST_CASE("outside_text: every byte comes back") {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  CHECK(inside_bytes(outside_text(all)) == all);
  CHECK(inside_bytes(outside_text("\xc3\xa4%\xff")) == "\xc3\xa4%\xff");
  CHECK(!inside_bytes("50%"));
  CHECK(!inside_bytes("%2"));
  CHECK(!inside_bytes("%ff"));
}
