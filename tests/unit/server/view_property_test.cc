// The same random commands to a shard whose refusals are answered from views where they can be, and to one without
// views: every reply is the same, and so is what is left. And how much the views take off the owner.
//
// HOLDFAST_SEED=n first seed; HOLDFAST_ROUNDS=n programs.
#include "server/view_map.h"
#include "tests/random_runs.h"
#include "tests/simulation/seeded_random.h"
#include "tests/unit/server/shard_fixture.h"

#include <fmt/format.h>

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::testing;
using simulation::Dice;

namespace {

class Pair {
 public:
  /// Runs a command on both; a text when the replies differ.
  std::string run(const std::string& line) {
    const auto text = split_words(line);
    const std::vector<std::string_view> words(text.begin(), text.end());
    std::string viewed;
    ReplyWriter reply(viewed, RespVersion::resp2);
    const auto refused =
        words[0] == "RESERVE" ? map_.answer(words, ViewTime::of(with_.now), reply) : std::optional<ReserveOutcome>();
    without_.send(line);
    if (refused) {
      ++answered;
      owed_ += viewed;
      // The owner rests what it says on the log, if only to be sure; the view did that before.
      without_.make_durable();
      return compare();
    }
    with_.send(line);
    return compare();
  }
  void make_durable() {
    with_.make_durable();
    without_.make_durable();
  }
  std::string compare() {
    // What rests on the log comes later, but in order.
    make_durable();
    owed_ += with_.replies();
    const std::string expected = without_.replies();
    const std::string got = std::exchange(owed_, {});
    learn();
    return got == expected ? "" : fmt::format("with views {}, without {}", got, expected);
  }
  void pass(Millis hold, Millis wall) {
    for (PlayedShard* shard : {&with_, &without_}) shard->now.hold += hold, shard->now.wall += wall;
    with_.shard.publish(with_.now);  // as in every turn
  }
  void set_round_up(Millis part) {
    for (PlayedShard* shard : {&with_, &without_}) shard->now.round_up = part;
  }
  /// Sweeps both until nothing is due: how far a sweep has come at a time is no matter of views.
  void keep_time() {
    while (with_.shard.keep_time(with_.now)) continue;
    while (without_.shard.keep_time(without_.now)) continue;
  }

  std::uint64_t answered = 0;

 private:
  void learn() {
    for (const ViewNews& news : with_.shard.take_view_news(PlayedShard::kThread)) map_.learn(news.item, news.view);
    for (const RetiredView& retired : with_.shard.take_retired()) {
      map_.forget(retired.view);
      with_.shard.reclaim(retired.ticket);
    }
  }

  PlayedShard with_;
  PlayedShard without_{false};
  ViewMap map_{with_.shard.inventory().views().hashes()};
  std::string owed_;
};

template <std::size_t N>
const char* pick(Dice& dice, const char* const (&choices)[N]) {
  return choices[dice.below(N)];
}

constexpr const char* kItems[] = {"a", "{s}b", "{s}c", "{d}"};

std::string random_line(Dice& dice) {
  const char* item = pick(dice, kItems);
  const std::uint64_t user = 1 + dice.below(6);
  const std::string id =
      dice.chance(1, 2) ? fmt::format(" ID 00000000-0000-4000-8000-{:012}", dice.below(8)) : std::string();
  switch (dice.below(20)) {
    case 0:
      return fmt::format("RELEASE {} {}{}", item, user, id);
    case 1:
      return fmt::format("CONFIRM {} {}{}{}", item, user, id, dice.chance(1, 2) ? " RESUME" : "");
    case 2:
      return fmt::format("REFUND {} {}{}", item, user, id.empty() ? " ID 00000000-0000-4000-8000-000000000001" : id);
    case 3:
      return fmt::format("EXTEND {} {} TTL {}{}", item, user, 1 + dice.below(60), id);
    case 4: {
      constexpr const char* kSteps[] = {"PAUSE", "OPEN", "OPEN", "OPEN", "CLOSE", "READY"};
      return fmt::format("ITEM {} {}", pick(dice, kSteps), item);
    }
    case 5:
      return fmt::format("ITEM ADJUST {} {} ID 00000000-0000-4000-8000-{:012} REASON x", item,
                         static_cast<int>(dice.below(5)) - 2, dice.next() % 1'000'000);
    case 6:
      return fmt::format("ITEM SET {} LIMIT {} EXPECT {}", item, dice.below(4), dice.below(4));
    case 7:
      return dice.chance(1, 2) ? fmt::format("ITEM RETURNS {} {}", item, dice.chance(1, 2) ? "HOLD" : "FREE")
                               : fmt::format("ITEM DROP {} CONFIRMED-TOO", item);
    case 8: {
      constexpr const char* kWindows[] = {"", "", " OPENS-AT 1800000000300", " CLOSES-AT 1800000000300"};
      return fmt::format("ITEM CREATE {} STOCK {} LIMIT {} SCOPE {} TTL {} MAX-HOLD 90{}", item, dice.below(4),
                         dice.below(4), item[1] == 's' && dice.chance(3, 4) ? "sale" : "item", 10 + dice.below(40),
                         pick(dice, kWindows));
    }
    default:
      return fmt::format("RESERVE {} {} QTY {}{}{}", item, dice.chance(1, 2) ? user : 100 + dice.below(1000),
                         1 + dice.below(3) / 2, id, dice.chance(1, 3) ? " DETAILS" : "");
  }
}

/// Empty, or what went wrong.
std::string run_program(std::uint64_t seed, std::uint64_t& answered) {
  Dice dice(seed);
  Pair pair;
  std::string transcript;
  for (std::uint64_t left = 50 + dice.below(300); left > 0; --left) {
    std::string line;
    std::string wrong;
    if (dice.chance(1, 8)) {
      const Millis time(1 + dice.below(20));
      const bool jump = dice.chance(1, 20);
      pair.pass(jump ? Millis(0) : time, jump ? Millis(11 + time.count()) : time);
      pair.set_round_up(Millis(dice.below(2)));
      line = fmt::format("@+{}ms{}", time.count(), jump ? " of the wall clock" : "");
      if (dice.chance(1, 2)) pair.keep_time();
    } else {
      line = random_line(dice);
      wrong = pair.run(line);
    }
    transcript += line + "\n";
    if (!wrong.empty()) return transcript + wrong;
  }
  pair.keep_time();
  for (const char* item : kItems) {
    for (const char* question : {"ITEM GET", "RESERVATION LIST"}) {
      const std::string wrong = pair.run(fmt::format("{} {}", question, item));
      if (!wrong.empty()) return transcript + wrong;
    }
  }
  answered += pair.answered;
  return {};
}

}  // namespace

TEST_CASE("view_property: with views and without them every reply is the same, and so is what is left") {
  const std::uint64_t first = test::number_from_environment("HOLDFAST_SEED", 1);
  const std::uint64_t rounds = test::number_from_environment("HOLDFAST_ROUNDS", test::rounds_here(1'000));
  std::uint64_t answered = 0;
  for (std::uint64_t seed = first; seed < first + rounds; ++seed) {
    const std::string wrong = run_program(seed, answered);
    if (wrong.empty()) continue;
    FAIL(
        fmt::format("seed {}\n{}\nreplay: HOLDFAST_SEED={} HOLDFAST_ROUNDS=1 view_property_test\n", seed, wrong, seed));
  }
  MESSAGE("seeds " << first << " to " << first + rounds - 1 << ", " << answered << " answers from views");
  CHECK((rounds < 100 || answered > 10 * rounds));
}

TEST_CASE("view_property: sold out, with a unit coming back every 10 ms and taken again, views answer most") {
  PlayedShard shard;
  ViewMap map(shard.shard.inventory().views().hashes());
  constexpr int kUnits = 100;
  constexpr int kAsksPerMs = 50;
  shard.ask(fmt::format("ITEM CREATE a STOCK {} TTL {}", kUnits, 10 * kUnits));
  std::uint64_t user = 0;
  std::uint64_t refused = 0;
  std::uint64_t from_view = 0;
  const auto ask = [&] {
    const std::string number = std::to_string(++user);
    const std::string_view words[] = {"RESERVE", "a", number};
    std::string bytes;
    ReplyWriter reply(bytes, RespVersion::resp2);
    if (map.answer(words, ViewTime::of(shard.now), reply)) return ++refused, ++from_view, void();
    shard.send(fmt::format("RESERVE a {}", number));
  };
  for (int unit = 0; unit < kUnits; ++unit) {
    ask();
    shard.now.hold += Millis(10), shard.now.wall += Millis(10);
  }
  shard.make_durable();
  shard.replies();
  std::uint64_t taken = 0;
  for (int ms = 0; ms < 5'000; ++ms) {
    for (int i = 0; i < kAsksPerMs; ++i) ask();
    // The log makes durable in a millisecond what was done in the one before.
    shard.make_durable();
    shard.shard.keep_time(shard.now);
    const std::string replies = shard.replies();
    for (std::size_t at = replies.find(':'); at != std::string::npos; at = replies.find(':', at + 1)) {
      ++(replies[at + 1] == '-' ? refused : taken);
    }
    for (const ViewNews& news : shard.shard.take_view_news(PlayedShard::kThread)) map.learn(news.item, news.view);
    for (const RetiredView& retired : shard.shard.take_retired()) shard.shard.reclaim(retired.ticket);
    shard.now.hold += Millis(1), shard.now.wall += Millis(1);
  }
  const double share = 100 * static_cast<double>(from_view) / static_cast<double>(refused);
  MESSAGE(fmt::format("{} units taken, {} refusals, {:.1f}% of them from views", taken, refused, share));
  CHECK(taken >= 490);
  CHECK(share >= 80);
}
