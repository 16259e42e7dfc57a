// What the threads of a server note together: the slow log, the events of LATENCY, and the counts since CONFIG RESETSTAT,
// summed over all threads. A shell with a lock that is held for a moment; any thread. Nothing here is on the way of a
// command that is not slow.
#pragma once

#include "server/latency_monitor.h"
#include "server/slow_log.h"
#include "server/thread_stats.h"

#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast {

/// What INFO tells of a command.
struct CommandTotals {
  std::uint64_t calls = 0;
  std::uint64_t rejected = 0;
  std::uint64_t failed = 0;
  std::uint64_t duration_ns = 0;
  HistogramView duration;
};

/// What INFO tells of the whole.
struct WorkTotals {
  std::uint64_t requests = 0;
  std::uint64_t error_replies = 0;
  std::uint64_t connections_received = 0;
  std::uint64_t connections_rejected = 0;
  std::uint64_t input_bytes = 0;
  std::uint64_t output_bytes = 0;
  std::uint64_t expired = 0;
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t clients_evicted = 0;
  std::uint64_t clients_timed_out = 0;
  std::uint64_t slow_subscribers = 0;
  std::uint64_t wrong_secrets = 0;
  std::uint64_t denied_commands = 0;
};

class SharedTelemetry {
 public:
  SharedTelemetry();
  ~SharedTelemetry();

  /// A thread begins to count; its statistics outlive this.
  void add(const ThreadStats& stats);
  /// Of each thread. REQUIRES: no add() after this.
  const std::vector<const ThreadStats*>& threads() const noexcept { return threads_; }
  /// The sum of one counter over all threads.
  template <class Get>
  std::uint64_t sum(Get get) const {
    std::uint64_t total = 0;
    for (const ThreadStats* stats : threads_) total += get(*stats).value();
    return total;
  }

  // Since the last reset (CONFIG RESETSTAT). Metrics never go back: they are the statistics themselves.

  CommandTotals totals(CommandId id) const;
  WorkTotals totals() const;
  /// Error replies by their first word, of those that there were.
  std::vector<std::pair<std::string_view, std::uint64_t>> error_totals() const;
  void reset();

  // SLOWLOG.

  void add_slow(SlowLog::Entry entry, std::size_t kept_max);
  /// The newest, newest first; `count_max` of them at most.
  std::vector<SlowLog::Entry> slow_entries(std::size_t count_max) const;
  std::size_t slow_count() const;
  void reset_slow();

  // LATENCY.

  void add_latency(LatencyEvent event, LatencyMonitor::Sample sample);
  LatencyMonitor::Series latency(LatencyEvent event) const;
  /// Forgets an event; false when there was nothing.
  bool reset_latency(LatencyEvent event);

 private:
  struct Baseline;

  CommandTotals now_of(CommandId id) const;
  WorkTotals now_of_all() const;

  std::vector<const ThreadStats*> threads_;
  mutable std::mutex mutex_;  // of what follows
  std::unique_ptr<Baseline> baseline_;
  SlowLog slow_log_;
  LatencyMonitor latency_;
};

}  // namespace holdfast
