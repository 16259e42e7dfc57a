#include "server/id_maker.h"

#include "tests/doctest.h"

#include <set>
#include <string>

using namespace holdfast;

namespace {

constexpr LogSecret kSecret{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

std::string text(const ReservationId& id) {
  const auto text = id.text();
  return {text.data(), text.size()};
}

}  // namespace

TEST_CASE("id maker: the same step makes the same id, in every process with the log's secret") {
  IdMaker one(kSecret);
  IdMaker two(kSecret);
  for (std::uint64_t sequence = 1; sequence < 100; ++sequence) {
    REQUIRE(one.make(wall_time(1'800'000'000'000), ItemNumber(3), Sequence(sequence)) ==
            two.make(wall_time(1'800'000'000'000), ItemNumber(3), Sequence(sequence)));
  }
  // Whatever was made in between.
  one.make(wall_time(5), ItemNumber(9), Sequence(9));
  CHECK(one.make(wall_time(1), ItemNumber(1), Sequence(1)) == two.make(wall_time(1), ItemNumber(1), Sequence(1)));
}

TEST_CASE("id maker: another secret, item, sequence or time makes another id") {
  LogSecret other_secret = kSecret;
  other_secret[15] ^= 1;
  IdMaker ids(kSecret);
  IdMaker others(other_secret);
  const auto wall = wall_time(1'800'000'000'000);
  const std::set<std::string> made{
      text(ids.make(wall, ItemNumber(1), Sequence(1))), text(others.make(wall, ItemNumber(1), Sequence(1))),
      text(ids.make(wall, ItemNumber(2), Sequence(1))), text(ids.make(wall, ItemNumber(1), Sequence(2))),
      text(ids.make(wall + Millis(1), ItemNumber(1), Sequence(1)))};
  CHECK(made.size() == 5);
  // All that follows the time differs with the secret, not only a part that a glance would show.
  CHECK(text(ids.make(wall, ItemNumber(1), Sequence(1))).substr(15) !=
        text(others.make(wall, ItemNumber(1), Sequence(1))).substr(15));
}

TEST_CASE("id maker: the shape is RFC 9562's version 7, with the wall milliseconds in front") {
  IdMaker ids(kSecret);
  for (const std::int64_t ms : {std::int64_t{0}, std::int64_t{1'800'000'000'000}, (std::int64_t{1} << 48) - 1}) {
    for (std::uint64_t sequence = 1; sequence <= 200; ++sequence) {
      const ReservationId id = ids.make(wall_time(ms), ItemNumber(7), Sequence(sequence));
      const std::string shown = text(id);
      REQUIRE(shown[14] == '7');
      REQUIRE(std::string("89ab").find(shown[19]) != std::string::npos);
      REQUIRE(std::stoll(shown.substr(0, 8) + shown.substr(9, 4), nullptr, 16) == ms);
      REQUIRE(ReservationId::parse(shown).value() == id);
    }
  }
}

TEST_CASE("id maker: ids of one millisecond do not meet") {
  IdMaker ids(kSecret);
  std::set<std::string> made;
  for (std::uint64_t sequence = 1; sequence <= 20'000; ++sequence) {
    made.insert(text(ids.make(wall_time(1), ItemNumber(1), Sequence(sequence))));
  }
  CHECK(made.size() == 20'000);
}

TEST_CASE("id maker: seeds differ by purpose and by secret") {
  IdMaker ids(kSecret);
  CHECK(ids.seed(1) == IdMaker(kSecret).seed(1));
  CHECK(ids.seed(1) != ids.seed(2));
  CHECK(ids.seed(1) != IdMaker(LogSecret{}).seed(1));
}
