#include "protocol/types.h"

#include "tests/doctest.h"

#include <type_traits>
#include <unordered_set>

using namespace holdfast;

TEST_CASE("types: a strong number converts neither to nor from a bare one, nor to another kind") {
  CHECK_FALSE(std::is_convertible_v<std::uint64_t, Lsn>);
  CHECK_FALSE(std::is_convertible_v<Lsn, std::uint64_t>);
  CHECK_FALSE(std::is_constructible_v<Lsn, Sequence>);
  CHECK_FALSE(std::is_constructible_v<HoldTime, WallTime>);
}

TEST_CASE("types: a strong number is none by default, counts and compares") {
  CHECK(Lsn() == Lsn(0));
  CHECK(Lsn(7).next() == Lsn(8));
  CHECK(Lsn(7) < Lsn(8));
  CHECK(Quantity(-1) < Quantity(0));
  CHECK(ShardIndex(65535).next() == ShardIndex(0));
}

TEST_CASE("types: a strong number hashes like its value") {
  const std::unordered_set<ItemNumber> numbers = {ItemNumber(1), ItemNumber(2), ItemNumber(1)};
  CHECK(numbers.size() == 2);
}

TEST_CASE("types: times are whole milliseconds and keep their value both ways") {
  for (const std::int64_t ms : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1'764'000'000'123}, INT64_MAX}) {
    CHECK(to_ms(hold_time(ms)) == ms);
    CHECK(to_ms(wall_time(ms)) == ms);
  }
  CHECK(hold_time(1) + std::chrono::seconds(2) == hold_time(2001));
}

TEST_CASE("types: the largest stock is what a double holds exactly, and sizes are powers of two") {
  CHECK(kStockMax == 9'007'199'254'740'991);
  CHECK(64_KiB == 65'536);
  CHECK(64_MiB == 67'108'864);
  CHECK(1_GiB == 1'073'741'824);
}
