// LATENCY: what took longer than latency-monitor-threshold, second by second, as Redis keeps it. No I/O and no clock; the
// thread that noticed it.
#pragma once

#include "server/limits.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace holdfast {

enum class LatencyEvent : std::uint8_t {
  command,  // a batch of commands
  flush,    // a write of the log, from its begin until it was durable
  turn,     // a turn of the loop: reading, executing and writing
};
inline constexpr std::size_t kLatencyEvents = 3;
/// "command" and so on.
std::string_view latency_event_name(LatencyEvent event) noexcept;

class LatencyMonitor {
 public:
  struct Sample {
    std::int64_t unix_seconds = 0;
    std::uint64_t ms = 0;
  };
  /// The samples of one event, oldest first, at most kLatencySamplesMax of them.
  struct Series {
    std::vector<Sample> samples;
    std::uint64_t max_ms = 0;  // of all time, or since the reset
  };

  /// One that took so long; of a second only the longest is kept.
  void add(LatencyEvent event, Sample sample);
  const Series& series(LatencyEvent event) const noexcept { return series_[static_cast<std::size_t>(event)]; }
  /// Forgets an event; false when there was nothing.
  bool reset(LatencyEvent event);

 private:
  std::array<Series, kLatencyEvents> series_;
};

}  // namespace holdfast
