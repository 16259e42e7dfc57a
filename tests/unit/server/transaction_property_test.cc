// Random transactions against the same commands one by one: the replies, the records and the state must be the same.
// HOLDFAST_SEED=n first seed; HOLDFAST_ROUNDS=n programs.
#include "tests/random_runs.h"
#include "tests/unit/server/step_bench.h"

#include <fmt/format.h>

#include "tests/doctest.h"

#include <random>

using namespace holdfast;
using namespace holdfast::testing;

namespace {

constexpr std::uint64_t kRounds = test::rounds_here(300);
constexpr int kBatches = 40;

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t end) { return random_() % end; }

  /// A command on the item; mostly about reservations, all meeting the same few users and ids.
  std::string command(const std::string& item) {
    const std::string user = std::to_string(below(4));
    const std::string id = below(2) == 0 ? "" : fmt::format(" ID 00000000-0000-4000-8000-{:012}", below(6));
    switch (below(20)) {
      case 0:
        return fmt::format("ITEM CREATE {} STOCK {} LIMIT {} TTL 40 SCOPE {}", item, below(8), below(4),
                           below(2) == 0 ? "sale" : "item");
      case 1:
        return fmt::format("ITEM DROP {}{}", item, below(2) == 0 ? " CONFIRMED-TOO" : "");
      case 2:
        return fmt::format("ITEM {} {}", below(3) == 0 ? "PAUSE" : below(6) == 0 ? "CLOSE" : "OPEN", item);
      case 3:
        return fmt::format("SET {}:stock {}", item, below(9));
      case 4:
        return fmt::format("INCRBY {}:stock {}", item, below(5));
      case 5:
        return fmt::format("ITEM ADJUST {} {} ID 00000000-0000-4000-8000-{:012} REASON x", item, below(4), below(6));
      case 6:
        return fmt::format("ITEM GET {}", item);
      case 7:
        return fmt::format("RESERVATION GET {} USER {}", item, user);
      case 8:
        return fmt::format("MGET {}:stock {}:buyers foreign", item, item);
      case 9:
        return fmt::format("SISMEMBER {}:buyers {}", item, user);
      case 10:
        return fmt::format("CONFIRM {} {}{}{}", item, user, id, below(3) == 0 ? " RESUME" : "");
      case 11:
      case 12:
        return fmt::format("RELEASE {} {}{}", item, user, id);
      case 13:
        return fmt::format("EXTEND {} {} TTL {}{}", item, user, below(90), id);
      case 14:
        return fmt::format("ITEM RETURNS {} {}", item, below(3) == 0 ? "HOLD" : "FREE");
      default:
        return fmt::format("RESERVE {} {} QTY {}{}{}", item, user, 1 + below(2), id,
                           below(2) == 0 ? "" : fmt::format(" TTL {}", 1 + below(60)));
    }
  }

 private:
  std::mt19937_64 random_;
};

/// As EXEC does, before the commands that are run one by one.
void expire_all(StepBench& bench, const std::string& item) {
  Item* found = bench.inventory().find(ItemName::from_stored(item), bench.now());
  if (found != nullptr) REQUIRE(bench.inventory().expire_all(*found, bench.now()).has_value());
}

void play(std::uint64_t seed) {
  Maker make(seed);
  StepBench together;
  StepBench apart;
  std::size_t executed = 0;
  for (int batch = 0; batch < kBatches; ++batch) {
    const std::string item = make.below(2) == 0 ? "{s}a" : "{s}b";
    REQUIRE(together.ask("MULTI") == "OK");
    std::vector<std::string> lines(make.below(12));
    for (std::string& line : lines) {
      line = make.command(item);
      INFO(line);
      REQUIRE(together.ask(line) == "QUEUED");
    }
    const ReplyValue replies = together.run("EXEC");
    REQUIRE(replies.items.size() == lines.size());
    if (!lines.empty()) expire_all(apart, item);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      INFO(lines[i]);
      REQUIRE(replies.items[i].to_text() == apart.ask(lines[i]));
    }
    REQUIRE(together.inventory().seal() == apart.inventory().seal());
    REQUIRE(together.tape().size() == apart.tape().size());
    executed += lines.size();
    for (StepBench* bench : {&together, &apart}) bench->pass(Millis(batch * 7 % 30));
  }
  together.compare_all();
  REQUIRE(executed > 0);
}

}  // namespace

TEST_CASE("transaction_property: EXEC does what its commands do one by one") {
  const std::uint64_t first = test::number_from_environment("HOLDFAST_SEED", 1);
  const std::uint64_t rounds = test::number_from_environment("HOLDFAST_ROUNDS", kRounds);
  for (std::uint64_t seed = first; seed < first + rounds; ++seed) {
    INFO("replay: HOLDFAST_SEED=" << seed << " HOLDFAST_ROUNDS=1 transaction_property_test");
    play(seed);
  }
}
