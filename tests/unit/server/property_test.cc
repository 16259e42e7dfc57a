// Random commands against the model of item_model.h. After every command: the reply, the law, VERIFY, the indexes, and
// the replica's state hash. A failure is shrunk and printed with what replays it.
//
// HOLDFAST_SEED=n first seed; HOLDFAST_ROUNDS=n programs; HOLDFAST_SECONDS=n runs until then.
#include "tests/random_runs.h"
#include "tests/unit/server/item_model.h"
#include "tests/unit/server/property_program.h"
#include "tests/unit/server/step_bench.h"

#include <fmt/format.h>

#include "tests/doctest.h"

#include <cstdio>

using namespace holdfast;
using namespace holdfast::testing;

namespace {

constexpr std::uint64_t kRounds = test::rounds_here(400);

/// What happens in both worlds.
class Player {
 public:
  explicit Player(const Rules& rules) : rules_(rules), bench_(settings(rules)) {
    model_.now = to_ms(bench_.now().hold);
    if (rules.ended_max) model_.ended_max = static_cast<std::int64_t>(*rules.ended_max);
    model_.ended_retention = rules.ended_retention.count();
    if (rules.ended_max) transcript_ += fmt::format("@option ended-max {}\n", *rules.ended_max);
    transcript_ += fmt::format("@option ended-retention {}ms\n", rules.ended_retention.count());
  }

  /// Nothing, or what is not as it must be.
  std::optional<std::string> play(const Command& command) {
    try {
      if (rules_.exact) {
        transcript_ += "@+1ms\n@sweep\n";
        pass(Millis(1));
      }
      if (!run_reservation(command) && !run_item(command)) run_other(command);
      if (rules_.exact) pass(Millis(0));
      bench_.compare_all();
      if (rules_.exact) compare_items();
    } catch (const std::exception& error) {
      return fmt::format("{}: {}", line_, error.what());
    }
    return std::nullopt;
  }

  std::optional<std::string> finish() {
    try {
      line_ = "at the end";
      bench_.sweep();
      bench_.compare_all();
      compare_items();
    } catch (const std::exception& error) {
      return fmt::format("{}: {}", line_, error.what());
    }
    return std::nullopt;
  }

  const std::string& transcript() const { return transcript_; }

 private:
  static Inventory::Settings settings(const Rules& rules) {
    Inventory::Settings settings;
    settings.ended_max = rules.ended_max;
    settings.ended_retention = rules.ended_retention;
    return settings;
  }

  void pass(Millis time) {
    bench_.pass(time);
    model_.now += time.count();
    model_.pass();
    if (rules_.exact) bench_.sweep();
  }

  bool run_reservation(const Command& c) {
    const std::string options = c.id.empty() ? "" : " ID " + c.id;
    switch (c.verb) {
      case Verb::reserve:
        expect(fmt::format("RESERVE {} {} QTY {}{}{}", c.item, c.user, c.number, options,
                           c.ttl == 0 ? "" : fmt::format(" TTL {}", c.ttl)),
               model_.reserve(c.item, c.user, c.number, c.id, c.ttl));
        return true;
      case Verb::confirm:
        expect(fmt::format("CONFIRM {} {}{}{}", c.item, c.user, options, c.flag ? " RESUME" : ""),
               model_.confirm(c.item, c.user, c.id, c.flag));
        return true;
      case Verb::release:
        expect(fmt::format("RELEASE {} {}{}{}", c.item, c.user, options, c.flag ? " WRITEOFF" : ""),
               model_.give_back(c.item, c.user, c.id, false, c.flag));
        return true;
      case Verb::refund:
        expect(fmt::format("REFUND {} {}{}{}", c.item, c.user, options, c.flag ? " WRITEOFF" : ""),
               model_.give_back(c.item, c.user, c.id, true, c.flag));
        return true;
      case Verb::extend:
        expect(fmt::format("EXTEND {} {} TTL {}{}", c.item, c.user, c.ttl, options),
               model_.extend(c.item, c.user, c.id, c.ttl));
        return true;
      default:
        return false;
    }
  }

  bool run_item(const Command& c) {
    switch (c.verb) {
      case Verb::move: {
        constexpr const char* kSteps[] = {"PAUSE", "PAUSE", "PAUSE", "OPEN", "OPEN", "OPEN", "OPEN", "CLOSE"};
        const std::string step = kSteps[c.number];
        expect(fmt::format("ITEM {} {}", step, c.item), model_.move(c.item, step));
        return true;
      }
      case Verb::adjust:
        expect(fmt::format("ITEM ADJUST {} {}{} REASON x", c.item, c.number, " ID " + c.id),
               model_.adjust(c.item, c.number, c.id));
        return true;
      case Verb::set_limit:
        expect(fmt::format("ITEM SET {} LIMIT {} EXPECT {}", c.item, c.number, c.ttl),
               model_.set_limit(c.item, c.number, c.ttl));
        return true;
      case Verb::returns:
        expect(fmt::format("ITEM RETURNS {} {}", c.item, c.flag ? "HOLD" : "FREE"), model_.returns(c.item, c.flag));
        return true;
      case Verb::create: {
        if (!model_.items[c.item].state.empty()) return true;
        const bool of_sale = c.item != "a" && !c.flag;
        const std::int64_t second = rules_.exact ? 1'000 : 1;
        expect(fmt::format("ITEM CREATE {} STOCK {} LIMIT {} SCOPE {} TTL {} MAX-HOLD {}", c.item, c.number, c.ttl,
                           of_sale ? "sale" : "item", 4 * second, 6 * second),
               model_.create(c.item, c.number, c.ttl, of_sale, 4 * second, 6 * second));
        return true;
      }
      case Verb::drop:
        expect(fmt::format("ITEM DROP {}{}", c.item, c.flag ? " CONFIRMED-TOO" : ""), model_.drop(c.item, c.flag));
        return true;
      default:
        return false;
    }
  }

  void run_other(const Command& c) {
    const std::string key = c.item.front() == '{' ? c.item : "{" + c.item + "}";
    switch (c.verb) {
      case Verb::set_stock:
        return expect(fmt::format("SET {}:stock {}", key, c.number), model_.set_stock(c.item, c.number));
      case Verb::add_stock:
        return expect(fmt::format("INCRBY {}:stock {}", key, c.number),
                      c.number == INT64_MIN ? "-ERR" : model_.add_stock(c.item, c.number));
      case Verb::is_buyer:
        return expect(fmt::format("SISMEMBER {}:buyers {}", key, c.user), model_.is_buyer(c.item, c.user));
      case Verb::buyers:
        if (rules_.exact) expect("SCARD " + key + ":buyers", model_.buyers(c.item));
        return;
      case Verb::state_of:
        return expect_state(c);
      case Verb::pass:
        line_ = fmt::format("@+{}ms", c.ttl);
        transcript_ += line_ + "\n";
        return pass(Millis(c.ttl));
      case Verb::step_wall:
        bench_.step_wall(c.flag ? std::chrono::hours(1) : -std::chrono::hours(1));
        transcript_ += c.flag ? "@wall+1h\n" : "@wall-1h\n";
        return;
      case Verb::sweep:
        transcript_ += "@sweep\n";
        bench_.sweep();
        return;
      case Verb::restart:
        transcript_ += "@restart\n";
        return bench_.restart();
      default:
        return;
    }
  }

  void expect(const std::string& line, std::string expected) {
    if (expected.starts_with("deadline ")) {
      const std::int64_t hold = std::stoll(expected.substr(9));
      expected = std::to_string(to_ms(bench_.now().wall) + hold - to_ms(bench_.now().hold));
    } else if (!rules_.exact && !line.starts_with("SISMEMBER") && !expected.starts_with('-') && expected != "OK") {
      expected = ">= 0";  // how much is available shows what was swept
    }
    line_ = line;
    transcript_ += fmt::format("> {}\n{}\n", line, expected == ">= 0" ? "*" : expected);
    const std::string reply = bench_.ask(line);
    const bool is_error = expected.size() > 1 && expected[0] == '-' && expected[1] > '9';
    const bool fits = expected == ">= 0" ? !reply.starts_with('-')
                      : is_error         ? reply.starts_with(expected)
                                         : reply == expected;
    if (!fits) throw std::runtime_error(fmt::format("got {}, expected {}", reply, expected));
  }

  void expect_state(const Command& c) {
    line_ = fmt::format("RESERVATION GET {} ID {}", c.item, c.id);
    const ReplyValue reply = bench_.run(line_);
    const std::string found = reply.kind == ReplyValue::Kind::array ? reply.at("state").text : reply.to_text();
    const std::string expected = model_.state_of(c.item, c.id);
    transcript_ += fmt::format("> {}\n# {}\n", line_, expected);
    if (!found.starts_with(expected)) throw std::runtime_error(fmt::format("got {}, expected {}", found, expected));
  }

  void compare_items() {
    for (const auto& [name, item] : model_.items) {
      const ReplyValue found = bench_.run("ITEM GET " + name);
      if (item.state.empty()) {
        if (!found.to_text().starts_with("-NOITEM")) throw std::runtime_error(name + " is still there");
        continue;
      }
      const std::string expected =
          fmt::format("version {} state {} total {} available {} reserved {} confirmed {} held {} limit {}",
                      item.version, item.state, item.total, item.available(), item.sum(ModelState::reserved),
                      item.sum(ModelState::confirmed), item.held, item.limit);
      const std::string shown = fmt::format(
          "version {} state {} total {} available {} reserved {} confirmed {} held {} limit {}",
          found.at("version").number, found.at("state").text, found.at("total").number, found.at("available").number,
          found.at("reserved").number, found.at("confirmed").number, found.at("held").number, found.at("limit").number);
      if (shown != expected) throw std::runtime_error(fmt::format("{} is {}, expected {}", name, shown, expected));
      if (found.at("sequence").number != static_cast<std::int64_t>(item.sequence)) {
        throw std::runtime_error(
            fmt::format("{} has sequence {}, expected {}", name, found.at("sequence").number, item.sequence));
      }
    }
  }

  Rules rules_;
  StepBench bench_;
  Model model_;
  std::string line_;
  std::string transcript_;
};

struct Failure {
  std::size_t commands;  // that it took
  std::string what;
  std::string transcript;
};

std::optional<Failure> run(const Program& program) {
  Player player(program.rules);
  for (std::size_t i = 0; i < program.commands.size(); ++i) {
    if (const auto wrong = player.play(program.commands[i])) return Failure{i + 1, *wrong, player.transcript()};
  }
  if (const auto wrong = player.finish()) return Failure{program.commands.size(), *wrong, player.transcript()};
  return std::nullopt;
}

/// A shorter program that fails too: ever smaller parts are left out as long as it does.
Failure shrink(Program program, Failure failure) {
  program.commands.resize(failure.commands);
  for (std::size_t size = program.commands.size() / 2; size > 0; size /= 2) {
    for (std::size_t at = 0; at + size <= program.commands.size();) {
      Program shorter = program;
      const auto from = shorter.commands.begin() + static_cast<std::ptrdiff_t>(at);
      shorter.commands.erase(from, from + static_cast<std::ptrdiff_t>(size));
      if (auto still = run(shorter)) {
        failure = *still;
        shorter.commands.resize(failure.commands);
        program = shorter;
      } else {
        at += size;
      }
    }
  }
  return failure;
}

}  // namespace

TEST_CASE("property: whatever is asked, the answers are the model's, and what was written makes the same state") {
  const std::uint64_t first = test::number_from_environment("HOLDFAST_SEED", 1);
  const std::uint64_t rounds = test::number_from_environment("HOLDFAST_ROUNDS", kRounds);
  const std::uint64_t seconds = test::number_from_environment("HOLDFAST_SECONDS", 0);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  std::uint64_t seed = first;
  for (; seconds > 0 ? std::chrono::steady_clock::now() < end : seed < first + rounds; ++seed) {
    // Also known when a CHECK or a sanitizer ends the process.
    fmt::print("\rseed {} ", seed);
    std::fflush(stdout);
    const Program program = random_program(seed);
    const auto failure = run(program);
    if (!failure) continue;
    const Failure small = shrink(program, *failure);
    FAIL(fmt::format(
        "seed {}, {} program of {} commands\n{}\n{}\nreplay: HOLDFAST_SEED={} HOLDFAST_ROUNDS=1 property_test\n", seed,
        program.rules.exact ? "exact" : "lazy", small.commands, small.transcript, small.what, seed));
  }
  MESSAGE("seeds " << first << " to " << seed - 1);
}
