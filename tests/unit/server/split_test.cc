// The differential test of the way in: any byte stream, cut anywhere, gets the same replies as in one piece,
// from any number of shards.
#include "tests/random_runs.h"
#include "tests/unit/server/command_noise.h"
#include "tests/unit/server/server_in_memory.h"

#include "tests/doctest.h"

#include <algorithm>

namespace holdfast::test {
namespace {

constexpr std::uint64_t kRounds = rounds_here(300);

std::string replies_to(std::uint16_t shards, std::string_view bytes, std::size_t piece) {
  ServerInMemory server(shards);
  const auto peer = server.connect();
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    server.send(peer, bytes.substr(at, piece));
    server.settle();
  }
  return server.take(peer) + (server.closed(peer) ? "(closed)" : "(open)");
}

}  // namespace

// One seed: HOLDFAST_SEED=n HOLDFAST_ROUNDS=1 split_test
TEST_CASE("split: a stream of commands and nonsense gets the same replies however it is cut") {
  const std::uint64_t seed = number_from_environment("HOLDFAST_SEED", 1);
  const std::uint64_t rounds = number_from_environment("HOLDFAST_ROUNDS", kRounds);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    CAPTURE(seed + round);
    const auto shards = static_cast<std::uint16_t>(1 + (seed + round) % 4);
    CommandNoise noise(seed + round, true);
    const std::string bytes = noise.stream(40);
    const std::string whole = replies_to(shards, bytes, bytes.size());
    for (const std::size_t piece : {1U, 2U, 3U, 7U, 64U}) {
      CAPTURE(piece);
      REQUIRE(replies_to(shards, bytes, piece) == whole);
    }
  }
}

}  // namespace holdfast::test
