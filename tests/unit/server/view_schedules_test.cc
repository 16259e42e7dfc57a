// Views under every interleaving of small cases, and under random ones of larger: what readers answer is true.
//
// HOLDFAST_SEED=n first seed; HOLDFAST_ROUNDS=n programs.
#include "tests/random_runs.h"
#include "tests/unit/server/view_world.h"

#include <fmt/format.h>

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::testing;

namespace {

/// Item a has sold its one unit to user 1 and says so; nobody is limited.
std::vector<std::string> sold_out(const char* options) {
  return {fmt::format("ITEM CREATE a STOCK 1 {}", options),
          "RESERVE a 1",
          "RESERVE a 9",
          "@build",
          "@durable",
          "RESERVE a 9"};
}

void try_all(const ViewProgram& program, std::size_t changes_max = SIZE_MAX) {
#ifndef NDEBUG
  changes_max = std::min<std::size_t>(changes_max, 2);
#endif
  std::uint64_t answers = 0;
  const std::uint64_t schedules = each_schedule(changes_max, [&](const ViewScheduler::Choose& choose) {
    const ViewRun run = run_views(program, choose);
    answers += run.answers;
    if (!run.violation.empty()) FAIL_CHECK(program.text() << run.violation);
    return run.violation.empty();
  });
  MESSAGE(schedules << " schedules, " << answers << " answers");
  CHECK(answers > 0);
  CHECK(answers < schedules * program.readers.size() * program.readers.front().size());
}

}  // namespace

TEST_CASE("view_schedules: a change and its publication, in every order with a reader's look") {
  try_all({sold_out("LIMIT 0"), {"ITEM PAUSE a", "@durable"}, {{"RESERVE a 2"}}});
}

TEST_CASE("view_schedules: a unit comes back and is taken, in every order with a reader's look") {
  try_all({sold_out("LIMIT 0"), {"RELEASE a 1", "RESERVE a 2"}, {{"RESERVE a 3"}}});
}

TEST_CASE("view_schedules: a change, in every order with the looks of two readers") {
  try_all({sold_out("LIMIT 0"), {"RELEASE a 1"}, {{"RESERVE a 2"}, {"RESERVE a 3"}}}, 4);
}

TEST_CASE("view_schedules: who has just reserved is never refused as one who has nothing") {
  try_all({sold_out("LIMIT 1"),
           {"RELEASE a 1", "RESERVE a 2 ID 00000000-0000-4000-8000-000000000001", "@durable"},
           {{"RESERVE a 2", "RESERVE a 3 ID 00000000-0000-4000-8000-000000000001"}}},
          3);
}

TEST_CASE("view_schedules: what another item of the sale took counts, though only this one's view is published") {
  auto setup = sold_out("LIMIT 1");
  for (auto& line : setup) {
    if (const auto at = line.find(" a "); at != std::string::npos) line.replace(at, 3, " {s}a ");
  }
  setup.front() += " SCOPE sale";
  setup.insert(setup.begin(), "ITEM CREATE {s}b STOCK 5 LIMIT 1 SCOPE sale");
  try_all({setup, {"RESERVE {s}b 2", "@durable"}, {{"RESERVE {s}a 2", "RESERVE {s}a 3"}}}, 3);
}

TEST_CASE("view_schedules: a filter built anew forgets nobody whose release is not durable") {
  ViewProgram program{
      {"ITEM CREATE {s}a STOCK 0 LIMIT 1 SCOPE sale", "ITEM CREATE {s}b STOCK 5 LIMIT 1 SCOPE sale", "RESERVE {s}a 9",
       "@build", "@durable", "RESERVE {s}a 9"},
      {"ITEM SET {s}a TTL 5000 EXPECT 600000", "@seal", "RELEASE {s}b 2", "@durable", "@build", "@durable"},
      {{"RESERVE {s}a 2", "RESERVE {s}a 3"}}};
  program.setup.emplace_back("RESERVE {s}b 2");
  // So many users come and go that their filter is to be built anew when it is looked at.
  for (int user = 100; user < 200; ++user) {
    program.setup.push_back(fmt::format("RESERVE {{s}}b {}", user));
    program.setup.push_back(fmt::format("RELEASE {{s}}b {}", user));
  }
  program.setup.emplace_back("@durable");
  try_all(program, 3);
}

TEST_CASE("view_schedules: a dropped item's view is freed when nobody reads it, and its successor has one of its own") {
  try_all({sold_out("LIMIT 0"),
           {"ITEM CLOSE a", "RELEASE a 1", "ITEM DROP a", "ITEM LOAD a VERSION 9 STOCK 1 LIMIT 0", "RESERVE a 9",
            "@build", "@durable", "RESERVE a 9"},
           {{"RESERVE a 2", "RESERVE a 2", "RESERVE a 2"}}},
          3);
}

TEST_CASE("view_schedules: random programs in random orders") {
  const std::uint64_t first = test::number_from_environment("HOLDFAST_SEED", 1);
  const std::uint64_t rounds = test::number_from_environment("HOLDFAST_ROUNDS", test::rounds_here(20'000));
  std::uint64_t answers = 0;
  for (std::uint64_t seed = first; seed < first + rounds; ++seed) {
    const ViewRun run = run_random_views(seed);
    answers += run.answers;
    if (run.violation.empty()) continue;
    FAIL(fmt::format("seed {}\n{}{}\nreplay: HOLDFAST_SEED={} HOLDFAST_ROUNDS=1 view_schedules_test\n", seed,
                     random_view_program(seed).text(), run.violation, seed));
  }
  MESSAGE("seeds " << first << " to " << first + rounds - 1 << ", " << answers << " answers from views");
  CHECK((rounds < 100 || answers > rounds / 4));
}
