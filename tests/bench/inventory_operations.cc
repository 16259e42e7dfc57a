// Runs one operation a given number of times, for counting its instructions:
//   valgrind --tool=callgrind --toggle-collect='run_counted*' build/release/bin/inventory_operations NAME 16384
// The total divided by the number of runs is what one costs.
#include "tests/bench/inventory_operations.h"

#include <fmt/format.h>

#include <cstdlib>

namespace {

constexpr std::uint64_t kRows = std::uint64_t{1} << 16;

}  // namespace

extern "C" __attribute__((noinline)) void run_counted(const holdfast::bench::Operation& operation,
                                                      holdfast::bench::Table& table, std::uint64_t runs) {
  for (std::uint64_t n = 0; n < runs; ++n) operation.run(table, kRows, n);
}

int main(int count, char** words) {
  const std::string_view name = count == 3 ? words[1] : "";
  for (const auto& operation : holdfast::bench::kOperations) {
    if (name != operation.name) continue;
    const auto table = operation.make(kRows);
    run_counted(operation, *table, std::min<std::uint64_t>(std::strtoull(words[2], nullptr, 10), kRows));
    return 0;
  }
  fmt::print(stderr, "usage: inventory_operations NAME RUNS (at most {})\nnames:", kRows);
  for (const auto& operation : holdfast::bench::kOperations) fmt::print(stderr, " {}", operation.name);
  fmt::print(stderr, "\n");
  return 2;
}
