// Sends one kind of RESERVE again and again through two_threads.h, for counting the instructions of the whole way:
//   valgrind --tool=callgrind --toggle-collect='run_counted*' build/release/bin/way_operations NAME PIPELINE RUNS
// The total divided by PIPELINE * RUNS is what one costs. way_cost.py does that for all and prints their ratios. Without
// valgrind the program tells the processor time of one.
#include "tests/bench/two_threads.h"

#include "protocol/check.h"

#include <fmt/format.h>

#include <cstdlib>
#include <ctime>

namespace {

using holdfast::ThreadIndex;
using holdfast::bench::TwoThreads;

constexpr int kWarmUp = 64;

struct Way {
  std::string_view name;
  ThreadIndex from;
  bool views;
  bool sold_out;
  std::string_view reply;
};

constexpr Way kWays[] = {
    {"success_own", ThreadIndex(0), true, false, ":"},
    {"success_forwarded", ThreadIndex(1), true, false, ":"},
    {"refusal_own", ThreadIndex(0), false, true, ":-1\r\n"},
    {"refusal_forwarded", ThreadIndex(1), false, true, ":-1\r\n"},
    {"view_own", ThreadIndex(0), true, true, ":-1\r\n"},
    {"view_other", ThreadIndex(1), true, true, ":-1\r\n"},
};

/// The requests of a batch, of users that are new with each.
std::string batch(std::uint64_t number, std::uint64_t pipeline) {
  std::string bytes;
  for (std::uint64_t i = 0; i < pipeline; ++i) {
    bytes +=
        holdfast::request({"RESERVE", TwoThreads::item(), std::to_string(100'000'000'000 + number * pipeline + i)});
  }
  return bytes;
}

std::int64_t thread_ns() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return used.tv_sec * 1'000'000'000 + used.tv_nsec;
}

/// What a look at the clock takes.
double clock_ns() {
  constexpr int kLooks = 10'000;
  const std::int64_t began = thread_ns();
  for (int i = 0; i < kLooks; ++i) static_cast<void>(thread_ns());
  return static_cast<double>(thread_ns() - began) / kLooks;
}

void set_up(const Way& way, TwoThreads& server) {
  const std::string item = TwoThreads::item();
  server.ask(holdfast::request({"ITEM", "CREATE", item, "STOCK", way.sold_out ? "1" : "1000000000"}));
  server.sent();
  if (!way.sold_out) return;
  server.ask(holdfast::request({"RESERVE", item, "first"}));
  server.sent();
}

}  // namespace

extern "C" __attribute__((noinline)) void run_counted(TwoThreads& server, const std::string& requests) {
  static_cast<void>(server.ask(requests));
  server.sent();
}

int main(int count, char** words) {
  const std::string_view name = count == 4 ? words[1] : "";
  for (const Way& way : kWays) {
    if (way.name != name) continue;
    const auto pipeline = std::strtoull(words[2], nullptr, 10), runs = std::strtoull(words[3], nullptr, 10);
    TwoThreads server(way.from, way.views);
    set_up(way, server);
    for (std::uint64_t number = 0; number < kWarmUp; ++number) {
      CHECK(server.ask(batch(number, pipeline)).starts_with(way.reply));
      server.sent();
    }
    const std::uint64_t before = server.telemetry().stats.view_refusals.value();
    std::int64_t used = 0;
    for (std::uint64_t number = 0; number < runs; ++number) {
      const std::string requests = batch(kWarmUp + number, pipeline);
      const std::int64_t began = thread_ns();
      run_counted(server, requests);
      used += thread_ns() - began;
    }
    fmt::print("{:.1f} ns a request\n", static_cast<double>(used) / static_cast<double>(runs * pipeline) -
                                            clock_ns() / static_cast<double>(pipeline));
    const std::uint64_t from_views = server.telemetry().stats.view_refusals.value() - before;
    CHECK(from_views == (way.views && way.sold_out ? runs * pipeline : 0));
    return 0;
  }
  fmt::print(stderr, "usage: way_operations NAME PIPELINE RUNS\nnames:");
  for (const Way& way : kWays) fmt::print(stderr, " {}", way.name);
  fmt::print(stderr, "\n");
  return 2;
}
