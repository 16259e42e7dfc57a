// Random histories, saved anywhere and taken over by any number of shards: what follows is the same, to the last byte.
//
// HOLDFAST_SEED=n first seed; HOLDFAST_ROUNDS=n histories.
#include "server/inventory_snapshot.h"
#include "tests/random_runs.h"
#include "tests/unit/server/random_history.h"
#include "tests/unit/server/sharded_bench.h"
#include "tests/unit/server/snapshot_text.h"

#include <fmt/format.h>

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::testing;

namespace {

constexpr std::uint64_t kRounds = test::rounds_here(200);
constexpr std::uint64_t kCommandsMax = 250;
constexpr std::uint16_t kShardsMax = 4;

Result<void> save(const Inventory& inventory, SnapshotVisitor& to) {
  HOLDFAST_TRY(to.on_log({inventory.item_number_max(), inventory.returns_held_by_default()}));
  HOLDFAST_TRY(save_names(inventory, to));
  return save_items(inventory, to);
}

/// One inventory and shards that took its state over, told the same: the same replies and the same state.
class Pair {
 public:
  Pair(const Inventory& from, std::uint16_t count) : shards_(count, tape_, history_settings()) {
    ShardedReplay replay(shards_.inventories());
    REQUIRE(save(from, replay).has_value());
    replay.finish();
  }

  std::string run(const std::string& line, const Now& now, bool sweep) {
    shards_.set_now(now);
    if (sweep) shards_.sweep();
    return shards_.ask(line);
  }
  ShardedBench& shards() noexcept { return shards_; }

 private:
  RecordTape tape_;
  ShardedBench shards_;
};

void run_history(std::uint64_t seed) {
  simulation::Dice dice(seed);
  RecordTape tape;
  ShardedBench live(1, tape, history_settings());
  std::unique_ptr<Pair> taken;
  const std::uint64_t at = dice.below(kCommandsMax);
  std::uint64_t version = 1;
  Now now{hold_time(1'000'000), wall_time(1'800'000'000'000), {}};
  for (std::uint64_t i = 0; i < kCommandsMax; ++i) {
    now.hold += Millis(static_cast<std::int64_t>(dice.below(200)));
    now.wall = wall_time(to_ms(now.hold) + 1'800'000'000'000);
    live.set_now(now);
    if (i == at) {
      live.hash();
      taken = std::make_unique<Pair>(live.inventory(0), static_cast<std::uint16_t>(1 + dice.below(kShardsMax)));
      REQUIRE(taken->shards().hash() == live.hash());
      REQUIRE(items_as_text(taken->shards().inventories()) == items_as_text(live.inventories()));
    }
    const bool sweep = dice.chance(1, 4);
    const std::string line = random_history_line(dice, version += dice.below(2));
    // Of several keys, one owner may have dropped its own where another refuses.
    if (line.starts_with("DEL") || line.starts_with("UNLINK")) continue;
    CAPTURE(line);
    if (sweep) live.sweep();
    const std::string said = live.ask(line);
    if (taken) REQUIRE(taken->run(line, now, sweep) == said);
  }
  // Of several shards, each gives new items numbers of its own.
  if (taken->shards().count() > 1) return;
  REQUIRE(taken->shards().hash() == live.hash());
  REQUIRE(items_as_text(taken->shards().inventories()) == items_as_text(live.inventories()));
}

}  // namespace

TEST_CASE("inventory snapshot: who takes a state over goes on as the one who had it") {
  const std::uint64_t first = test::number_from_environment("HOLDFAST_SEED", 1);
  const std::uint64_t rounds = test::number_from_environment("HOLDFAST_ROUNDS", kRounds);
  for (std::uint64_t seed = first; seed < first + rounds; ++seed) {
    const std::string again = fmt::format("HOLDFAST_SEED={} HOLDFAST_ROUNDS=1 inventory_snapshot_test", seed);
    CAPTURE(again);
    run_history(seed);
  }
}
