#include "replication/sql_array.h"

#include "tests/doctest.h"

using namespace holdfast;

TEST_CASE("sql_array: numbers, flags, texts with quotes and backslashes, and nothing") {
  SqlArray array;
  CHECK(array.text() == "{}");
  CHECK(array.empty());
  array.add(std::int64_t{-5});
  array.add(std::uint64_t{7});
  array.add(true);
  array.add(std::string_view("a\"b\\c,{}"));
  array.add(std::string_view("NULL"));
  array.add_null();
  CHECK(array.text() == R"({-5,7,t,"a\"b\\c,{}","NULL",NULL})");
  CHECK(!array.empty());
}
