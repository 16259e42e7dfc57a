#include "server/info_telemetry.h"

#include <fmt/format.h>

#include <iterator>

namespace holdfast {

void write_commandstats(std::string& text, const SharedTelemetry& telemetry) {
  for (const CommandEntry& command : command_table()) {
    const CommandTotals totals = telemetry.totals(command.id);
    if (totals.calls + totals.rejected + totals.failed == 0) continue;
    const std::uint64_t usec = totals.duration_ns / 1000;
    const double each = totals.calls == 0 ? 0 : static_cast<double>(usec) / static_cast<double>(totals.calls);
    fmt::format_to(std::back_inserter(text),
                   "cmdstat_{}:calls={},usec={},usec_per_call={:.2f},rejected_calls={},failed_calls={}\r\n",
                   full_name(command), totals.calls, usec, each, totals.rejected, totals.failed);
  }
}

void write_latencystats(std::string& text, const SharedTelemetry& telemetry) {
  for (const CommandEntry& command : command_table()) {
    const CommandTotals totals = telemetry.totals(command.id);
    if (totals.duration.count() == 0) continue;
    const auto usec = [&](double share) { return static_cast<double>(totals.duration.quantile(share)) / 1000; };
    fmt::format_to(std::back_inserter(text), "latency_percentiles_usec_{}:p50={:.3f},p99={:.3f},p99.9={:.3f}\r\n",
                   full_name(command), usec(0.5), usec(0.99), usec(0.999));
  }
}

}  // namespace holdfast
