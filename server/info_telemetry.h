// The sections of INFO that tell of each command, in Redis's format. Time is measured for batches of commands and shared
// evenly among them. Any thread.
#pragma once

#include "server/shared_telemetry.h"

#include <string>

namespace holdfast {

/// cmdstat_reserve:calls=..,usec=..,usec_per_call=..,rejected_calls=..,failed_calls=..
void write_commandstats(std::string& text, const SharedTelemetry& telemetry);
/// latency_percentiles_usec_reserve:p50=..,p99=..,p99.9=..; each is the upper bound of a power of two of nanoseconds.
void write_latencystats(std::string& text, const SharedTelemetry& telemetry);

}  // namespace holdfast
