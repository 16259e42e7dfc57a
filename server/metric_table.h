// The metrics, from one table, and what a scrape found for each. Plain values, without the library that serves them.
#pragma once

#include "storage/counters.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

enum class MetricId : std::uint8_t {
#define HOLDFAST_METRIC(id, ...) id,
#include "server/metrics.def"
#undef HOLDFAST_METRIC
};
enum class MetricType : std::uint8_t { counter, gauge, histogram };

/// One line of metrics.def.
struct MetricEntry {
  MetricId id;
  std::string_view name;
  MetricType type;
  std::string_view labels;  // separated by commas
  std::string_view info;    // field of INFO; empty: none
  std::string_view help;
};

/// All metrics in the table's order, indexed by MetricId.
std::span<const MetricEntry> metric_table() noexcept;
std::vector<std::string_view> label_names(const MetricEntry& entry);

/// What one series of a metric is at the moment.
struct MetricSample {
  MetricId id;
  std::vector<std::string> labels;  // values, as many as the metric has names
  double value = 0;
  HistogramView histogram{};  // of a histogram
  double unit = 1;            // what 1 of the histogram's values is in the metric's unit
};

/// The samples of a scrape, in any order.
using MetricSamples = std::vector<MetricSample>;

}  // namespace holdfast
