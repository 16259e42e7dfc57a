// The postgres sink with much that the tables do not take at once.
#include "tests/unit/replication/sink_bench.h"

#include <fmt/format.h>

#include <chrono>

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::test;

namespace {

using Verb = ReservationEvent;

}  // namespace

TEST_CASE("postgres_parking: ten thousand that find no room are parked in bulk, and so they end") {
  constexpr std::uint64_t kMany = 10'000;
  SinkBench bench;
  auto& item = bench.log.create("a", 2 * kMany);
  auto& other = bench.log.create("b", 10);
  CHECK(bench.flush() == "");
  bench.execute("UPDATE flash_sale_item SET quantity = 1000 WHERE item_id = 'a'");
  const auto timed = [&](std::string_view what) {
    const auto begin = std::chrono::steady_clock::now();
    CHECK(bench.flush() == "");
    const auto took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    MESSAGE(fmt::format("{}: {} in {:.2f} s, {:.0f} a second", what, kMany, took, kMany / took));
  };
  for (std::uint64_t id = 1; id <= 1000 + kMany; ++id) bench.log.reserve(item, id, std::to_string(id));
  bench.log.reserve(other, 1, "1");
  timed("parked");
  CHECK(bench.sold() == "1000 1000");
  CHECK(bench.sold("b") == "10 1");
  CHECK(bench.rows("SELECT reason, count(*), min(detail), max(detail) FROM holdfast_parked GROUP BY 1") ==
        "no_room 10000 quantity 1000, sold 1000 quantity 1000, sold 1000");
  for (std::uint64_t id = 1001; id <= 1000 + kMany; ++id) bench.log.follow(item, id, Verb::expire);
  timed("ended");
  CHECK(bench.sink().figures().singly == 0);
  CHECK(bench.rows("SELECT state, count(*) FROM holdfast_parked GROUP BY 1") == "resolved 10000");
  CHECK(bench.rows("SELECT status, count(*) FROM flash_sale_order WHERE item_id = 'a' GROUP BY 1 ORDER BY 1") ==
        "EXPIRED 10000; PENDING 1000");
  CHECK(bench.audit() == "");
}

TEST_CASE("postgres_parking: what was parked and has ended goes after thirty days of the log") {
  SinkBench bench(OutsideIds::bigint);
  auto& item = bench.log.create("1", 10);
  auto& ending = bench.log.create("2", 10);
  CHECK(bench.flush() == "");
  bench.execute("UPDATE flash_sale_item SET quantity = 0");
  // One gets its row when it ends, the next cannot, one belongs to a version that ends, and one stays parked.
  bench.log.reserve(item, 1, "1");
  bench.log.follow(item, 1, Verb::expire);
  bench.log.reserve(item, 2, "alice");
  bench.log.follow(item, 2, Verb::expire);
  bench.log.reserve(ending, 3, "bob");
  bench.log.follow(ending, 3, Verb::expire);
  bench.log.reserve(item, 4, "4");
  CHECK(bench.flush(1) == "");
  bench.log.change(ending, ItemEvent::close);
  bench.log.change(ending, ItemEvent::drop);
  std::uint64_t passed = 100;
  const auto pass = [&](Millis time) {
    bench.log.wall += time;
    bench.log.reserve(item, ++passed, "bob");
    CHECK(bench.flush() == "");
  };
  pass(std::chrono::hours(29 * 24));
  CHECK(bench.rows("SELECT count(*) FROM holdfast_parked WHERE parked_at < to_timestamp(1700000001)") == "4");
  pass(std::chrono::hours(2 * 24));
  CHECK(bench.rows("SELECT right(key, 1), state FROM holdfast_parked WHERE parked_at < to_timestamp(1700000001)"
                   " ORDER BY key") == "2 resolved; 4 parked");
}
