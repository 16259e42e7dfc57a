#include "server/lookahead.h"

#include "tests/unit/server/step_bench.h"

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::testing;

namespace {

/// A block of these command lines.
std::unique_ptr<CommandBlock> block(const std::vector<std::string>& lines) {
  auto made = std::make_unique<CommandBlock>();
  for (const std::string& line : lines) {
    const std::vector<std::string> words = split_words(line);
    const std::vector<std::string_view> views(words.begin(), words.end());
    StepCommand command;
    command.entry = find_command(views).value();
    command.words = views;
    REQUIRE(made->add(command));
  }
  return made;
}

}  // namespace

TEST_CASE("lookahead: whatever is in a block, it is executed as it would be without it") {
  StepBench bench;
  CHECK(bench.ask("ITEM CREATE large STOCK 100000") == "OK");
  CHECK(bench.ask("ITEM CREATE small STOCK 10") == "OK");
  for (std::uint64_t user = 0; user < Lookahead::kRowsMin + 1; ++user)
    bench.run({"RESERVE", "large", std::to_string(user)});
  const StateHash before = bench.inventory().seal();
  const auto missed = bench.inventory().lookups().missed;
  Lookahead lookahead;
  const auto asked = block({"RESERVE large 1", "RESERVE large 999999", "RESERVE small 1", "RESERVE nobody 1",
                            "RESERVE large \"\"", "PING", "RESERVE \"\" 1", "ITEM GET large", "RELEASE large 1",
                            "RESERVE large x ID 00000000-0000-4000-8000-000000000001", "RESERVE large x ID 1",
                            "RESERVE large x id", "RESERVE large x QTY 2"});
  lookahead.look(bench.inventory(), asked->commands());
  lookahead.look(bench.inventory(), {});
  CHECK(bench.inventory().seal() == before);
  CHECK(bench.inventory().lookups().missed == missed);
  CHECK(bench.ask("RESERVE large 1") == "-2");
  CHECK(bench.run({"RESERVE", "large", "999999"}).to_text() == std::to_string(100000 - Lookahead::kRowsMin - 2));
  bench.compare_all();
}

TEST_CASE("lookahead: a whole block of users that an item of several buckets has, and of ones that it has not") {
  StepBench bench;
  CHECK(bench.ask("ITEM CREATE large STOCK 100000") == "OK");
  for (std::uint64_t user = 0; user < Lookahead::kRowsMin; ++user)
    bench.run({"RESERVE", "large", std::to_string(user)});
  std::vector<std::string> lines;
  for (std::uint64_t i = 0; i < kBlockCommandsMax; ++i)
    lines.push_back(fmt::format("RESERVE large {}", Lookahead::kRowsMin - 32 + i));
  Lookahead lookahead;
  lookahead.look(bench.inventory(), block(lines)->commands());
  for (std::size_t i = 0; i < lines.size(); ++i) CHECK((bench.ask(lines[i]) == "-2") == (i < 32));
}
