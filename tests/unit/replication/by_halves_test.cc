#include "replication/by_halves.h"

#include <set>
#include <vector>

#include "tests/doctest.h"

using namespace holdfast;

namespace {

/// How many attempts it takes to do all but the bad ones; `found` of those, in their order.
std::size_t attempts(std::size_t size, const std::set<std::size_t>& bad, std::vector<std::size_t>& found) {
  std::size_t made = 0;
  std::size_t next = 0;
  const auto attempt = [&](std::size_t begin, std::size_t count) -> Result<Attempt> {
    ++made;
    CHECK(begin == next);
    const auto first = bad.lower_bound(begin);
    const bool goes = first == bad.end() || *first >= begin + count;
    if (!goes && count > 1) return Attempt();
    next += count;
    if (!goes) found.push_back(begin);
    return Attempt{count, goes};
  };
  CHECK(by_halves(size, attempt).has_value());
  CHECK(next == size);
  return made;
}

}  // namespace

TEST_CASE("by_halves: what goes goes at once, and what does not is found in its order") {
  std::vector<std::size_t> found;
  CHECK(attempts(0, {}, found) == 0);
  CHECK(attempts(5000, {}, found) == 1);
  CHECK(found.empty());
  CHECK(attempts(5000, {1234}, found) < 30);
  CHECK(found == std::vector<std::size_t>{1234});
  found.clear();
  CHECK(attempts(5000, {0, 1, 2500, 4999}, found) < 100);
  CHECK(found == std::vector<std::size_t>{0, 1, 2500, 4999});
}

TEST_CASE("by_halves: where nothing goes, each is tried once") {
  std::set<std::size_t> all;
  for (std::size_t i = 0; i < 1000; ++i) all.insert(i);
  std::vector<std::size_t> found;
  CHECK(attempts(1000, all, found) < 1000 + 12);
  CHECK(found.size() == 1000);
}

TEST_CASE("by_halves: an error ends it") {
  const auto attempt = [](std::size_t begin, std::size_t) -> Result<Attempt> {
    if (begin > 0) return Error(ErrorCode::io_failed, "enough");
    return Attempt{1};
  };
  const auto done = by_halves(3, attempt);
  REQUIRE(!done);
  CHECK(done.error().text() == "enough");
}
