// Grows one item to a given number of live reservations and says what they take: bytes each, by kind and as the system
// sees them, and the longest times of one RESERVE on the way, on the wall and as the thread's own CPU time. The same is
// done twice: what the table itself causes comes at the same row again, what the machine does comes anywhere.
//   build/release/bin/inventory_growth [ROWS]
#include "tests/bench/inventory_table.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>

namespace {

using namespace holdfast;

std::int64_t clock_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

/// Pages of this process that are in memory, in bytes.
std::size_t resident_bytes() {
  std::size_t total = 0;
  std::size_t resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  CHECK(file != nullptr && std::fscanf(file, "%zu %zu", &total, &resident) == 2);
  std::fclose(file);
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// Counts of times by powers of two of a microsecond, and the longest.
struct Times {
  static constexpr std::size_t kBuckets = 16;
  std::array<std::uint64_t, kBuckets> counts{};
  std::int64_t longest_ns = 0;
  std::uint64_t longest_at = 0;

  void add(std::int64_t ns, std::uint64_t row) {
    std::size_t bucket = 0;
    while (bucket + 1 < kBuckets && ns >= std::int64_t{1000} << bucket) ++bucket;
    ++counts[bucket];
    if (ns > longest_ns) longest_ns = ns, longest_at = row;
  }
};

void print_bytes(bench::Table& table, std::uint64_t rows, std::size_t resident_before) {
  const InventoryMemory memory = table.inventory().memory();
  const auto each = [&](std::size_t bytes) { return static_cast<double>(bytes) / static_cast<double>(rows); };
  const std::size_t sum = memory.rows + memory.indexes + memory.names + memory.others;
  fmt::print("{:>10} live: rows {:.2f} indexes {:.2f} names {:.2f} others {:.2f} = {:.2f}; resident {:.2f}\n", rows,
             each(memory.rows), each(memory.indexes), each(memory.names), each(memory.others), each(sum),
             each(resident_bytes() - resident_before));
}

void print_times(const char* name, const Times& times) {
  fmt::print("{}: longest {:.0f} us at row {};", name, static_cast<double>(times.longest_ns) / 1000, times.longest_at);
  for (std::size_t bucket = 4; bucket < Times::kBuckets; ++bucket) {
    if (times.counts[bucket] > 0) fmt::print(" >={}us:{}", 1 << (bucket - 1), times.counts[bucket]);
  }
  fmt::print("\n");
}

using SlowRows = std::map<std::uint64_t, std::int64_t>;  // ns of the rows that took kSlowNs or longer
constexpr std::int64_t kSlowNs = 50'000;

/// Fills a table of its own. `report`: prints its bytes on the way.
SlowRows grow(std::uint64_t rows, bool report) {
  const std::size_t resident_before = resident_bytes();
  bench::Table table(static_cast<std::int64_t>(rows));
  Times wall;
  Times cpu;
  SlowRows slow;
  for (std::uint64_t n = 0; n < rows; ++n) {
    const std::int64_t cpu_start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    const std::int64_t wall_start = clock_ns(CLOCK_MONOTONIC);
    CHECK(table.reserve(n)->outcome == ReserveOutcome::taken);
    const std::int64_t wall_end = clock_ns(CLOCK_MONOTONIC);
    const std::int64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_start;
    wall.add(wall_end - wall_start, n);
    cpu.add(cpu_ns, n);
    if (cpu_ns >= kSlowNs) slow[n] = cpu_ns;
    if (n % bench::Table::kGroupCommands == 0) table.commit();
    if (report && (n + 1) % std::max<std::uint64_t>(rows / 10, 1) == 0) print_bytes(table, n + 1, resident_before);
  }
  table.commit();
  CHECK(table.reserve(rows)->outcome == ReserveOutcome::sold_out);
  if (report) fmt::print("sold out: "), print_bytes(table, rows, resident_before);
  print_times("wall", wall);
  print_times("cpu", cpu);
  return slow;
}

}  // namespace

int main(int count, char** words) {
  const std::uint64_t rows = count > 1 ? std::strtoull(words[1], nullptr, 10) : 10'000'000;
  const SlowRows first = grow(rows, true);
  const SlowRows second = grow(rows, false);
  std::int64_t longest_ns = 0;
  std::uint64_t longest_at = 0;
  for (const auto& [row, ns] : first) {
    const auto again = second.find(row);
    if (again == second.end() || std::min(ns, again->second) <= longest_ns) continue;
    longest_ns = std::min(ns, again->second);
    longest_at = row;
  }
  fmt::print("cpu, in both: longest {} us at row {}\n", longest_ns / 1000, longest_at);
}
