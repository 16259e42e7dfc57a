#include "tests/unit/server/property_program.h"

#include "tests/simulation/seeded_random.h"

#include <fmt/format.h>

namespace holdfast::testing {
namespace {

constexpr const char* kItems[] = {"a", "{s}b", "{s}c"};
constexpr const char* kUsers[] = {"7", "007", "user", "0192f0c1-2345-7abc-8def-0123456789ab"};
constexpr std::int64_t kQuantities[] = {1, 1, 1, 1, 2, 2, 3, 5, 65'535, 65'536, kStockMax - 1, kStockMax};
constexpr std::int64_t kStocks[] = {0, 1, 2, 4, 8, 12, kStockMax - 1, kStockMax};
constexpr std::int64_t kLimits[] = {0, 0, 1, 1, 2, 3, 5, kStockMax};
constexpr std::int64_t kDeltas[] = {1, 2, 5, -1, -2, -5, 0, kStockMax, -kStockMax, INT64_MAX, INT64_MIN};
constexpr std::size_t kIds = 6;

template <std::size_t N, class T>
const T& pick(simulation::Dice& dice, const T (&choices)[N]) {
  return choices[dice.below(N)];
}

std::string id_text(std::uint64_t number) { return fmt::format("00000000-0000-4000-8000-{:012}", number); }

Verb random_verb(simulation::Dice& dice) {
  constexpr std::pair<Verb, std::uint64_t> kWeights[] = {
      {Verb::reserve, 34}, {Verb::confirm, 14}, {Verb::release, 10},  {Verb::refund, 6},    {Verb::extend, 4},
      {Verb::move, 4},     {Verb::adjust, 4},   {Verb::set_stock, 2}, {Verb::add_stock, 2}, {Verb::set_limit, 2},
      {Verb::returns, 2},  {Verb::create, 3},   {Verb::drop, 1},      {Verb::is_buyer, 3},  {Verb::buyers, 1},
      {Verb::state_of, 3}, {Verb::pass, 12},    {Verb::step_wall, 1}, {Verb::sweep, 1},     {Verb::restart, 1}};
  std::uint64_t sum = 0;
  for (const auto& [verb, weight] : kWeights) sum += weight;
  std::uint64_t rest = dice.below(sum);
  for (const auto& [verb, weight] : kWeights) {
    if (rest < weight) return verb;
    rest -= weight;
  }
  return Verb::reserve;
}

Command random_command(simulation::Dice& dice, const Rules& rules) {
  Command command;
  command.verb = random_verb(dice);
  command.item = pick(dice, kItems);
  command.user = pick(dice, kUsers);
  if (dice.chance(2, 3)) command.id = id_text(dice.below(kIds));
  command.flag = dice.chance(1, 3);
  // In exact programs deadlines differ because commands are a millisecond apart and all else is whole seconds.
  command.ttl = static_cast<std::int64_t>(rules.exact ? 1'000 * dice.below(5) : dice.below(8));
  switch (command.verb) {
    case Verb::reserve:
      command.number = pick(dice, kQuantities);
      break;
    case Verb::confirm:
    case Verb::release:
      if (!command.id.empty() && dice.chance(1, 3)) command.user = "-";
      if (!rules.exact && command.id.empty()) command.flag = false;  // which expired last depends on who looked first
      break;
    case Verb::refund:
    case Verb::state_of:
      if (command.id.empty()) command.id = id_text(0);
      if (dice.chance(1, 2)) command.user = "-";
      break;
    case Verb::extend:
      command.ttl += rules.exact ? 1'000 : 1;
      break;
    case Verb::adjust:
      if (command.id.empty()) command.id = id_text(1);
      [[fallthrough]];
    case Verb::add_stock:
      command.number = pick(dice, kDeltas);
      break;
    case Verb::set_stock:
    case Verb::create:
      command.number = pick(dice, kStocks);
      command.ttl = pick(dice, kLimits);
      break;
    case Verb::set_limit:
      command.number = pick(dice, kLimits);
      command.ttl = pick(dice, kLimits);
      break;
    case Verb::move:
      command.number = static_cast<std::int64_t>(dice.below(8));
      break;
    case Verb::returns:
      // What is due but not yet swept when returns are held comes back to held.
      if (!rules.exact) command.verb = Verb::pass;
      break;
    default:
      break;
  }
  return command;
}

}  // namespace

Program random_program(std::uint64_t seed) {
  simulation::Dice dice(seed);
  Program program;
  program.rules.exact = dice.chance(2, 3);
  if (program.rules.exact && dice.chance(1, 3)) program.rules.ended_max = dice.below(4);
  if (program.rules.exact && dice.chance(1, 3)) program.rules.ended_retention = Millis(1'500);
  for (const char* item : kItems) {
    Command create{Verb::create, item, "", "", pick(dice, kStocks), pick(dice, kLimits), false};
    program.commands.push_back(create);
  }
  const std::uint64_t length = 20 + dice.below(130);
  for (std::uint64_t i = 0; i < length; ++i) program.commands.push_back(random_command(dice, program.rules));
  return program;
}

}  // namespace holdfast::testing
