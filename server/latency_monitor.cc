#include "server/latency_monitor.h"

#include <algorithm>

namespace holdfast {

std::string_view latency_event_name(LatencyEvent event) noexcept {
  constexpr std::array<std::string_view, kLatencyEvents> kNames = {"command", "flush", "turn"};
  return kNames[static_cast<std::size_t>(event)];
}

void LatencyMonitor::add(LatencyEvent event, Sample sample) {
  Series& series = series_[static_cast<std::size_t>(event)];
  series.max_ms = std::max(series.max_ms, sample.ms);
  if (!series.samples.empty() && series.samples.back().unix_seconds == sample.unix_seconds) {
    series.samples.back().ms = std::max(series.samples.back().ms, sample.ms);
    return;
  }
  if (series.samples.size() == kLatencySamplesMax) series.samples.erase(series.samples.begin());
  series.samples.push_back(sample);
}

bool LatencyMonitor::reset(LatencyEvent event) {
  Series& series = series_[static_cast<std::size_t>(event)];
  const bool had = !series.samples.empty();
  series = {};
  return had;
}

}  // namespace holdfast
