// Time per operation of the inventory on one item with a million live reservations (Google Benchmark).
#include "tests/bench/inventory_operations.h"

#include <benchmark/benchmark.h>

namespace {

constexpr std::uint64_t kRows = std::uint64_t{1} << 20;

void measure(benchmark::State& state, const holdfast::bench::Operation& operation) {
  const auto table = operation.make(kRows);
  std::uint64_t n = 0;
  for (auto _ : state) operation.run(*table, kRows, n++);
  state.SetItemsProcessed(static_cast<std::int64_t>(n));
}

}  // namespace

int main(int count, char** words) {
  for (const auto& operation : holdfast::bench::kOperations) {
    benchmark::RegisterBenchmark(operation.name, measure, operation)->Iterations(kRows / 2);
  }
  benchmark::Initialize(&count, words);
  if (benchmark::ReportUnrecognizedArguments(count, words)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
