// A scrape as Prometheus reads it: its text format, written by the library. No state; any thread.
#pragma once

#include "server/metric_table.h"

#include <string>

namespace holdfast {

/// Families in the table's order; those without a sample are left out.
std::string metrics_text(MetricSamples samples);

}  // namespace holdfast
