// Programs of random commands for the property test: few users and ids, quantities near the limits and at the edges of
// their types, so that commands meet. Data; one thread at a time.
#pragma once

#include "protocol/types.h"

#include <optional>
#include <string>
#include <vector>

namespace holdfast::testing {

enum class Verb : std::uint8_t {
  reserve,
  confirm,
  release,
  refund,
  extend,
  move,
  adjust,
  set_stock,
  add_stock,
  set_limit,
  returns,
  create,
  drop,
  is_buyer,
  buyers,
  state_of,
  pass,
  step_wall,
  sweep,
  restart
};

/// Choices as numbers, so that a program can be cut and each command still means something.
struct Command {
  Verb verb{};
  std::string item;
  std::string user;
  std::string id;  // empty: none
  std::int64_t number = 0;
  std::int64_t ttl = 0;
  bool flag = false;
};

/// How a program is run.
struct Rules {
  /// Everything due is swept at once and deadlines never meet, so that counters and orders are foreseen exactly. If not,
  /// nothing is swept but by chance: only what was decided is compared, until the end.
  bool exact = true;
  std::optional<std::uint64_t> ended_max;
  Millis ended_retention{std::chrono::hours(24)};
};

struct Program {
  Rules rules;
  std::vector<Command> commands;
};

/// The same program for the same seed.
Program random_program(std::uint64_t seed);

}  // namespace holdfast::testing
