// What a connection asked of an item's owner is executed before anything that it asks later is answered from a view. Built a
// second time with HOLDFAST_MUTANT 32, a session that does not wait, which must be caught.
#include "tests/unit/server/server_in_memory.h"

#include "tests/doctest.h"

#include <array>

namespace holdfast::test {
namespace {

constexpr int kRounds = 200;

#ifndef HOLDFAST_MUTANT
#define HOLDFAST_MUTANT 0
#endif

/// How often a unit that the same connection had just released was refused; `view_refusals`: of others meanwhile.
int wrong_refusals(std::uint16_t shards, std::uint64_t& view_refusals) {
  ServerInMemory server(shards);
  const auto seller = server.connect();
  const auto crowd = server.connect();
  const auto ask = [&](ServerInMemory::Peer peer, const std::string& bytes) {
    server.send(peer, bytes);
    server.settle();
    return server.take(peer);
  };
  CHECK(ask(seller, request({"ITEM", "CREATE", "i", "STOCK", "1"})) == "+OK\r\n");
  CHECK(ask(seller, request({"RESERVE", "i", "u0"})) == ":0\r\n");
  int wrong = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto user = [](int number) { return "u" + std::to_string(number); };
    // The filters are built when time passes; then the owner tells of the view with its next refusal.
    for (int again = 0; again < 3; ++again) {
      CHECK(ask(crowd, request({"RESERVE", "i", "x"})) == ":-1\r\n");
      server.pass(Millis(1));
    }
    const std::string both = request({"RELEASE", "i", user(round)}) + request({"RESERVE", "i", user(round + 1)});
    const std::string replies = ask(seller, both);
    if (replies != ":1\r\n:0\r\n") {
      ++wrong;
      CHECK(ask(seller, request({"RESERVE", "i", user(round + 1)})) == ":0\r\n");
    }
  }
  view_refusals = server.telemetry().stats.view_refusals.value();
  return wrong;
}

}  // namespace

TEST_CASE("view order: a released unit is there for the next command of the connection") {
  for (const std::uint16_t shards : std::array<std::uint16_t, 3>{1, 2, 4}) {
    CAPTURE(shards);
    std::uint64_t view_refusals = 0;
    const int wrong = wrong_refusals(shards, view_refusals);
    CHECK(view_refusals >= kRounds);
    CHECK((wrong > 0) == (HOLDFAST_MUTANT == 32));
  }
}

}  // namespace holdfast::test
