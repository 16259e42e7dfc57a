// What the model says of this machine, beside what was measured on it, and of more threads than it has: README.md.
//   scaling COSTS THROUGHPUT
// Both are files of measure.py. Fails when it is off by more than 15% anywhere, or says less than a million requests a second
// of one hot item with 16 threads, each request read and written by itself.
#include "tests/bench/scaling/model.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <sstream>

namespace holdfast::scaling {
namespace {

constexpr double kErrorMax = 0.15;
constexpr double kWanted = 1'000'000;
constexpr std::size_t kWantedThreads = 16;
constexpr std::size_t kConnectionsEach = 200;  // of a shard's thread
constexpr std::size_t kLoadThreadsEach = 3;

struct Measured {
  Scenario scenario;
  double requests = 0;  // a second
};

/// Lines as measure.py writes them: sold-out or selling, shards, connections, pipeline, requests a second.
Result<std::vector<Measured>> parse_measured(const std::string& text) {
  std::vector<Measured> all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string kind;
    Measured one;
    Scenario& scenario = one.scenario;
    if (!(words >> kind >> scenario.shards >> scenario.connections >> scenario.pipeline >> one.requests) ||
        (kind != "selling" && kind != "sold-out")) {
      return Error::format(ErrorCode::err, "'{}': sold-out or selling and four numbers are wanted", line);
    }
    scenario.selling = kind == "selling";
    all.push_back(one);
  }
  if (all.empty()) return Error(ErrorCode::err, "nothing measured");
  return all;
}

const char* kind(const Scenario& scenario) { return scenario.selling ? "selling" : "sold out"; }

/// Whether the model is right about this machine.
bool compare(const Costs& costs, const std::vector<Measured>& all) {
  double worst = 0;
  fmt::print("{:9} {:>7} {:>11} {:>8} {:>9} {:>9} {:>7}\n", "", "threads", "connections", "pipeline", "measured",
             "model", "off");
  for (const Measured& one : all) {
    const double found = simulate(costs, one.scenario).requests;
    const double off = found / one.requests - 1;
    worst = std::max(worst, std::abs(off));
    fmt::print("{:9} {:7} {:11} {:8} {:9.0f} {:9.0f} {:+6.1f}%\n", kind(one.scenario), one.scenario.shards,
               one.scenario.connections, one.scenario.pipeline, one.requests, found, 100 * off);
  }
  fmt::print("the worst is off by {:.1f}%, {} {:.0f}%\n\n", 100 * worst, worst <= kErrorMax ? "within" : "MORE THAN",
             100 * kErrorMax);
  return worst <= kErrorMax;
}

/// Whether enough threads carry enough.
bool foretell(const Costs& costs) {
  bool enough = true;
  fmt::print("one hot item, a processor for each thread, {} connections each, one request at a time\n",
             kConnectionsEach);
  fmt::print("{:9} {:>7} {:>10} {:>10} {:>11} {:>8} {:>10}\n", "", "threads", "requests/s", "owner busy", "others busy",
             "log busy", "batches/s");
  for (const bool selling : {true, false}) {
    for (const std::size_t threads : {2U, 4U, 8U, 16U, 32U}) {
      Scenario scenario;
      scenario.selling = selling;
      scenario.shards = threads;
      scenario.connections = threads * kConnectionsEach;
      scenario.load_threads = threads * kLoadThreadsEach;
      scenario.processor_each = true;
      const Outcome outcome = simulate(costs, scenario);
      fmt::print("{:9} {:7} {:10.0f} {:9.0f}% {:10.0f}% {:7.0f}% {:10.0f}\n", kind(scenario), threads, outcome.requests,
                 100 * outcome.owner_busy, 100 * outcome.others_busy, 100 * outcome.log_busy, outcome.batches);
      enough = enough && (threads != kWantedThreads || outcome.requests >= kWanted);
    }
  }
  fmt::print("{} threads carry {:.0f} a second before and after an item is sold out: {}\n", kWantedThreads, kWanted,
             enough ? "yes" : "NO");
  return enough;
}

int run(int count, char** words) {
  if (count != 3) {
    fmt::print(stderr, "usage: scaling COSTS THROUGHPUT\n");
    return 2;
  }
  const auto costs = read_costs(words[1]);
  if (!costs) return fmt::print(stderr, "{}: {}\n", words[1], costs.error().text()), 2;
  const auto text = read_text(words[2]);
  const auto measured = text ? parse_measured(*text) : text.error();
  if (!measured) return fmt::print(stderr, "{}: {}\n", words[2], measured.error().text()), 2;
  const bool right = compare(*costs, *measured);
  const bool enough = foretell(*costs);
  return right && enough ? 0 : 1;
}

}  // namespace
}  // namespace holdfast::scaling

int main(int count, char** words) { return holdfast::scaling::run(count, words); }
