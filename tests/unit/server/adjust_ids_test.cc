#include "server/adjust_ids.h"

#include "tests/doctest.h"

using namespace holdfast;

namespace {

ReservationId id(std::uint64_t number) {
  std::array<std::uint8_t, ReservationId::kBytes> bytes{};
  for (std::size_t i = 0; i < 8; ++i) bytes[15 - i] = static_cast<std::uint8_t>(number >> (8 * i));
  return ReservationId(bytes);
}

}  // namespace

TEST_CASE("adjust ids: the newest 10,000 are known with their deltas, older ones are not") {
  AdjustIds ids;
  CHECK(!ids.find(id(0)));
  const std::uint64_t count = AdjustIds::kKept + 500;
  for (std::uint64_t i = 0; i < count; ++i) ids.add(id(i), static_cast<std::int64_t>(i) - 5'000);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto delta = ids.find(id(i));
    if (i < 500) {
      REQUIRE(!delta);
    } else {
      REQUIRE(delta == static_cast<std::int64_t>(i) - 5'000);
    }
  }
  // One that was forgotten is new again.
  ids.add(id(3), 77);
  CHECK(ids.find(id(3)) == 77);
  CHECK(!ids.find(id(500)));
  CHECK(ids.find(id(501)));
}
