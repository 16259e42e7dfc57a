#include "storage/log_retention.h"

#include "tests/doctest.h"

#include <vector>

namespace holdfast {
namespace {

constexpr HoldTime kNow = hold_time(100'000'000);
constexpr RetentionRules kKeepNothing{0, Millis(0)};

/// Segments of ten records and 100 bytes each, sealed an hour apart, the last one just now.
std::vector<KeptSegment> segments(std::size_t count) {
  std::vector<KeptSegment> made;
  for (std::size_t i = 0; i < count; ++i) {
    const auto ago = std::chrono::hours(static_cast<int>(count - i) - 1);
    made.push_back({i + 1, Lsn(i * 10 + 1), Lsn(i * 10 + 10), 100, kNow - ago});
  }
  return made;
}

}  // namespace

TEST_CASE("log retention: without a snapshot nothing goes, and the live segment never does") {
  const auto five = segments(5);
  CHECK(removable_segments(five, {}, kKeepNothing, kNow) == 0);
  CHECK(removable_segments(five, {Lsn(1000), {}, {}}, kKeepNothing, kNow) == 4);
  CHECK(removable_segments({}, {Lsn(1000), {}, {}}, kKeepNothing, kNow) == 0);
  CHECK(removable_segments(segments(1), {Lsn(1000), {}, {}}, kKeepNothing, kNow) == 0);
}

TEST_CASE("log retention: what goes is at or below every hold") {
  const auto five = segments(5);
  for (std::uint64_t snapshot = 0; snapshot <= 60; ++snapshot) {
    for (std::uint64_t sink = 0; sink <= 60; ++sink) {
      for (std::uint64_t reader = 0; reader <= 60; reader += 3) {
        const std::uint64_t lowest = std::min({snapshot, sink, reader});
        const std::size_t expected = std::min<std::size_t>(lowest / 10, 4);
        CHECK(removable_segments(five, {Lsn(snapshot), Lsn(sink), Lsn(reader)}, kKeepNothing, kNow) == expected);
      }
    }
  }
}

TEST_CASE("log retention: a segment without records goes with those before it") {
  auto three = segments(3);
  three[1].last_lsn = Lsn(three[1].first_lsn.value() - 1);
  three[2].first_lsn = three[1].first_lsn;
  CHECK(removable_segments(three, {Lsn(9), {}, {}}, kKeepNothing, kNow) == 0);
  CHECK(removable_segments(three, {Lsn(10), {}, {}}, kKeepNothing, kNow) == 2);
}

TEST_CASE(
    "log retention: without a sink the larger of bytes and age is kept, up to a bound, with one only what it needs") {
  const auto five = segments(5);
  const RetentionHolds no_sink{Lsn(1000), {}, {}};
  CHECK(removable_segments(five, no_sink, {200, Millis(0)}, kNow) == 3);
  CHECK(removable_segments(five, no_sink, {250, Millis(0)}, kNow) == 2);
  CHECK(removable_segments(five, no_sink, {0, std::chrono::minutes(90)}, kNow) == 3);
  CHECK(removable_segments(five, no_sink, {400, std::chrono::minutes(90)}, kNow) == 1);
  CHECK(removable_segments(five, no_sink, {100, std::chrono::hours(10)}, kNow) == 0);
  CHECK(removable_segments(five, no_sink, {100, std::chrono::hours(10), 200}, kNow) == 3);
  CHECK(removable_segments(five, no_sink, {500, Millis(0), 300}, kNow) == 2);
  CHECK(removable_segments(five, {Lsn(1000), Lsn(1000), {}}, {400, std::chrono::hours(10)}, kNow) == 4);
}

TEST_CASE("log retention: an alarm at 70%, full at 100%") {
  CHECK(retention_level(0, 1000) == RetentionLevel::ok);
  CHECK(retention_level(699, 1000) == RetentionLevel::ok);
  CHECK(retention_level(700, 1000) == RetentionLevel::alarm);
  CHECK(retention_level(999, 1000) == RetentionLevel::alarm);
  CHECK(retention_level(1000, 1000) == RetentionLevel::full);
  CHECK(retention_level(std::uint64_t{1} << 60, std::uint64_t{1} << 60) == RetentionLevel::full);
  CHECK(retention_level((std::uint64_t{1} << 60) - 1, std::uint64_t{1} << 60) == RetentionLevel::alarm);
}

}  // namespace holdfast
