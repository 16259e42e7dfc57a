#include "tests/bench/scaling/costs.h"

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::scaling;

namespace {

constexpr std::string_view kNames[] = {"turn",        "sleeping",     "socket",      "refuse",       "own",
                                       "forward",     "run",          "block",       "group",        "wake",
                                       "commit",      "record",       "flush",       "flush_record", "load_sleep",
                                       "load_socket", "load_request", "wake_latency"};

/// Every cost as its place in the list, but for one line.
std::string file(std::string_view but = {}, std::string_view line = {}) {
  std::string text = "# microseconds\n\n";
  double value = 0.5;
  for (const std::string_view name : kNames) {
    if (name != but) text += fmt::format("{} {}\n", name, value);
    if (name == but) text += line;
    value += 1;
  }
  return text;
}

std::string refusal(const std::string& text) {
  const auto costs = parse_costs(text);
  REQUIRE_FALSE(costs.has_value());
  return std::string(costs.error().text());
}

}  // namespace

TEST_CASE("costs: a file gives each in microseconds") {
  const auto costs = parse_costs(file());
  REQUIRE(costs.has_value());
  CHECK(costs->turn.count() == doctest::Approx(500));
  CHECK(costs->sleep.count() == doctest::Approx(1500));
  CHECK(costs->wake_latency.count() == doctest::Approx(17'500));
}

TEST_CASE("costs: a file that is not whole is refused with the line") {
  CHECK(refusal(file("run")).find("'run' is missing") != std::string::npos);
  CHECK(refusal(file("run", "runs 1\n")).find("'runs 1': no cost has this name") != std::string::npos);
  CHECK(refusal(file() + "run 1\n").find("'run 1': for the second time") != std::string::npos);
  for (const std::string_view line : {"run\n", "run x\n", "run -1\n", "run nan\n", "run 1us\n", "run 1 2\n"}) {
    CHECK(refusal(file("run", line)).find("microseconds, at least 0, are wanted") != std::string::npos);
  }
  CHECK_FALSE(parse_costs("").has_value());
  CHECK_FALSE(read_costs("no-such-file").has_value());
}
