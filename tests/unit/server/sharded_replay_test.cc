// Random histories that some number of shards write to one log, which then any number of shards, and one inventory,
// read: all show the same. A failure prints what replays it.
//
// HOLDFAST_SEED=n first seed; HOLDFAST_ROUNDS=n histories.
#include "tests/random_runs.h"
#include "tests/simulation/seeded_random.h"
#include "tests/unit/server/random_history.h"
#include "tests/unit/server/sharded_bench.h"

#include <fmt/format.h>

#include "tests/doctest.h"

#include <set>

using namespace holdfast;
using namespace holdfast::testing;

namespace {

constexpr std::uint64_t kRounds = test::rounds_here(150);
constexpr std::uint16_t kShardsMax = 4;
constexpr std::uint64_t kPhases = 3;
constexpr std::uint64_t kCommands = 120;

/// What LOAD records say: no number twice, each above those of the runs before.
void check_numbers(const RecordTape& tape) {
  std::set<std::uint64_t> numbers;
  for (std::size_t i = 0; i < tape.size(); ++i) {
    const auto* record = std::get_if<ItemRecord>(&tape.entry(i).record);
    if (record == nullptr || record->event != ItemEvent::load) continue;
    REQUIRE(numbers.insert(tape.entry(i).stamp.item.value()).second);
  }
}

/// The tape read by a number of shards shows what `live` shows.
void check_replayed(ShardedBench& live, RecordTape& tape, std::uint16_t count) {
  CAPTURE(count);
  ShardedBench replayed(count, tape, history_settings());
  replayed.set_now(live.now());
  REQUIRE(replayed.hash() == live.hash());
  ItemNumber highest;
  for (std::uint16_t shard = 0; shard < count; ++shard) {
    highest = std::max(highest, replayed.inventory(shard).item_number_max());
    InventoryAccess::each_item(replayed.inventory(shard), [&](const Item& item) {
      REQUIRE(replayed.router().owner(item.name()).value() == shard);
    });
  }
  ItemNumber given;
  for (std::uint16_t shard = 0; shard < live.count(); ++shard) {
    given = std::max(given, live.inventory(shard).item_number_max());
  }
  REQUIRE(highest == given);
  REQUIRE(replayed.show() == live.show());
}

void check_readers(ShardedBench& live, RecordTape& tape) {
  check_numbers(tape);
  live.set_version(RespVersion::resp2);
  for (std::uint16_t count = 1; count <= kShardsMax; ++count) check_replayed(live, tape, count);
}

/// A history in phases, each by another number of shards, told beside one inventory: the same replies to everything.
void run_history(std::uint64_t seed) {
  simulation::Dice dice(seed);
  RecordTape tape;
  RecordTape single_tape;
  std::uint64_t version = 1;
  Now now{hold_time(1'000'000), wall_time(1'800'000'000'000), {}};
  for (std::uint64_t phase = 0; phase < kPhases; ++phase) {
    ShardedBench live(static_cast<std::uint16_t>(1 + dice.below(kShardsMax)), tape, history_settings());
    ShardedBench single(1, single_tape, history_settings());
    const RespVersion resp = dice.chance(1, 2) ? RespVersion::resp3 : RespVersion::resp2;
    live.set_version(resp);
    single.set_version(resp);
    for (std::uint64_t i = 0; i < kCommands; ++i) {
      now.hold += Millis(static_cast<std::int64_t>(dice.below(200)));
      now.wall = wall_time(to_ms(now.hold) + 1'800'000'000'000);
      live.set_now(now);
      single.set_now(now);
      if (dice.chance(1, 4)) {
        live.sweep();
        single.sweep();
      }
      const std::string line = random_history_line(dice, version += dice.below(2));
      CAPTURE(line);
      const bool deletes = line.starts_with("DEL") || line.starts_with("UNLINK");
      if (deletes) {
        live.sweep();
        single.sweep();
      }
      const std::string expected = single.ask(line);
      if (deletes && expected.front() == '-') {
        // One owner drops nothing then; several may have dropped theirs, after which the two are no more the same.
        if (!dice.chance(1, 5)) continue;
        REQUIRE(live.ask(line).front() == '-');
        return check_readers(live, tape);
      }
      const std::string said = live.ask(line);
      REQUIRE(said == expected);
    }
    REQUIRE(live.show() == single.show());
    check_readers(live, tape);
  }
}

/// What a replay of records 0..i-1 and then of one other says to that one.
std::string refusal(const RecordTape& tape, std::size_t i, std::size_t other, std::uint16_t count) {
  RecordTape nothing;
  ShardedBench bench(count, nothing, history_settings());
  // Sharded once more, since the bench's own has read its tape already.
  ShardedReplay replay(bench.inventories());
  for (std::size_t k = 0; k < i; ++k) REQUIRE(tape.play_one(k, replay.visitor()).has_value());
  const auto played = tape.play_one(other, replay.visitor());
  return played ? "taken" : std::string(played.error().text());
}

}  // namespace

TEST_CASE("sharded replay: any number of shards reads what any number wrote, and answers the same") {
  const std::uint64_t first = test::number_from_environment("HOLDFAST_SEED", 1);
  const std::uint64_t rounds = test::number_from_environment("HOLDFAST_ROUNDS", kRounds);
  for (std::uint64_t seed = first; seed < first + rounds; ++seed) {
    const std::string again = fmt::format("HOLDFAST_SEED={} HOLDFAST_ROUNDS=1 sharded_replay_test", seed);
    CAPTURE(again);
    run_history(seed);
  }
}

TEST_CASE("sharded replay: a record out of place is refused as one inventory refuses it") {
  RecordTape tape;
  ShardedBench bench(3, tape, history_settings());
  for (const char* line :
       {"ITEM CREATE a STOCK 5 LIMIT 0", "ITEM CREATE b STOCK 5 LIMIT 0", "ITEM CREATE c STOCK 5", "RESERVE a u",
        "RESERVE b u", "ITEM CLOSE c", "ITEM LOAD c VERSION 7 STOCK 2", "ITEM RETURNS * HOLD", "RELEASE a u",
        "CONFIRM b u", "ITEM DROP a", "ITEM CREATE a STOCK 1"}) {
    REQUIRE(bench.ask(line).front() != '-');
  }
  int refused = 0;
  for (std::size_t i = 0; i <= tape.size(); ++i) {
    for (std::size_t other = 0; other < tape.size(); ++other) {
      CAPTURE(i);
      CAPTURE(other);
      const std::string one = refusal(tape, i, other, 1);
      refused += one == "taken" ? 0 : 1;
      for (const std::uint16_t count : std::initializer_list<std::uint16_t>{2, 3, 4})
        REQUIRE(refusal(tape, i, other, count) == one);
    }
  }
  CHECK(refused > 100);
}

TEST_CASE("sharded replay: a number is one item's, whichever shards own the names") {
  RecordTape tape;
  ShardedBench bench(1, tape);
  bench.ask("ITEM LOAD a VERSION 1 STOCK 5");
  ItemRecord record = tape.record<ItemRecord>(0);
  for (const std::string_view name : {"b", "c", "d", "e", "", "a"}) {
    CAPTURE(name);
    record.name = name;
    std::set<std::string> said;
    for (const std::uint16_t count : std::initializer_list<std::uint16_t>{1, 2, 3, 4}) {
      RecordTape nothing;
      ShardedBench reader(count, nothing);
      ShardedReplay replay(reader.inventories());
      REQUIRE(tape.play_one(0, replay.visitor()).has_value());
      const auto refused = replay.visitor().on_item(tape.entry(0).stamp, record);
      REQUIRE(!refused.has_value());
      said.insert(std::string(refused.error().text()));
    }
    CHECK(said.size() == 1);
  }
}

TEST_CASE("sharded replay: the number of an item that is gone may come again, as in one inventory") {
  RecordTape tape;
  ShardedBench bench(1, tape);
  bench.ask("ITEM LOAD a VERSION 1 STOCK 5");
  bench.ask("ITEM CLOSE a");
  SUBCASE("dropped") { bench.ask("ITEM DROP a"); }
  SUBCASE("replaced") { bench.ask("ITEM LOAD a VERSION 2 STOCK 5"); }
  ItemRecord record = tape.record<ItemRecord>(0);
  for (const std::string_view name : {"b", "c", "d", "e"}) {
    record.name = name;
    for (const std::uint16_t count : std::initializer_list<std::uint16_t>{1, 2, 3, 4}) {
      RecordTape nothing;
      ShardedBench reader(count, nothing);
      ShardedReplay replay(reader.inventories());
      REQUIRE(tape.play(0, replay.visitor()).has_value());
      CHECK(replay.visitor().on_item(tape.entry(0).stamp, record).has_value());
    }
  }
}

TEST_CASE("sharded replay: versions of names that are gone stay known at their owners") {
  RecordTape tape;
  {
    ShardedBench bench(2, tape);
    for (const char* name : kHistoryItems) bench.ask(fmt::format("ITEM LOAD {} VERSION 9 STOCK 5", name));
    for (const char* name : kHistoryItems) REQUIRE(bench.ask(fmt::format("ITEM DROP {}", name)) == "1");
  }
  for (const std::uint16_t count : std::initializer_list<std::uint16_t>{1, 3, 4}) {
    RecordTape copy;
    tape.write(0, copy);
    ShardedBench bench(count, copy);
    for (const char* name : kHistoryItems) {
      CHECK(bench.ask(fmt::format("ITEM LOAD {} VERSION 9 STOCK 5", name)).starts_with("-VERSION"));
      CHECK(bench.ask(fmt::format("ITEM LOAD {} VERSION 10 STOCK 5", name)) == "OK");
    }
  }
}

TEST_CASE("sharded replay: new items of all shards inherit what was said of returns") {
  RecordTape tape;
  ShardedBench(2, tape).ask("ITEM RETURNS * HOLD");
  ShardedBench bench(4, tape);
  for (const char* name : kHistoryItems) {
    bench.ask(fmt::format("ITEM CREATE {} STOCK 1", name));
    bench.ask(fmt::format("RESERVE {} u", name));
    CHECK(bench.ask(fmt::format("RELEASE {} u", name)) == "0");
  }
}

TEST_CASE("sharded replay: one inventory is driven itself") {
  RecordTape tape;
  Inventory inventory({}, tape);
  ShardedReplay replay({&inventory});
  CHECK(&replay.visitor() == &inventory);
}
