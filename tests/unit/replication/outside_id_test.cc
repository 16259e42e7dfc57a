#include "replication/outside_id.h"

#include "tests/doctest.h"

#include <limits>

using namespace holdfast;

TEST_CASE("outside_id: the number of item:<n> or <n>, canonical and within a bigint") {
  CHECK(outside_item_number("item:17") == 17);
  CHECK(outside_item_number("17") == 17);
  CHECK(outside_item_number("item:0") == 0);
  CHECK(outside_item_number("item:9223372036854775807") == std::numeric_limits<std::int64_t>::max());
  for (const auto* const name : {"item:", "item:017", "item:-1", "item:9223372036854775808", "Item:1", "{item:1}",
                                 "item:item:1", " 1", "1 ", ""}) {
    CHECK_MESSAGE(!outside_item_number(name), name);
  }
}

TEST_CASE("outside_id: a user is a number only when he is nothing else") {
  CHECK(outside_user_number("42") == 42);
  CHECK(!outside_user_number("user:42"));
  CHECK(!outside_user_number("item:42"));
  CHECK(!outside_user_number("042"));
  CHECK(!outside_user_number("alice"));
  CHECK(!outside_user_number("18446744073709551615"));
}

TEST_CASE("outside_id: ids of a schema of names, and of one of numbers") {
  CHECK(outside_item_id(OutsideIds::text, "item:1\n") == "item:1%0A");
  CHECK(outside_item_id(OutsideIds::bigint, "item:1") == "1");
  CHECK(!outside_item_id(OutsideIds::bigint, "shoe"));
  CHECK(outside_user_id(OutsideIds::text, "alice") == "alice");
  CHECK(!outside_user_id(OutsideIds::bigint, "alice"));
}
