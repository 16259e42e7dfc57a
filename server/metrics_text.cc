// The shell around prometheus-cpp's core. Its registry would count with a lock of its own and be written by the threads
// that serve; ours are read where they stand, so that only the library's families and its serializer are of use.
#include "server/metrics_text.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <sstream>

namespace holdfast {
namespace {

/// Buckets that are shown: of times from 16 us (2^14 ns) to 17 s, of plain numbers all from 1 to 2^24.
struct Shown {
  std::size_t first;
  std::size_t end;
};
Shown shown_of(double unit) { return unit < 1 ? Shown{14, 35} : Shown{0, 25}; }

prometheus::MetricType type_of(MetricType type) {
  switch (type) {
    case MetricType::counter:
      return prometheus::MetricType::Counter;
    case MetricType::gauge:
      return prometheus::MetricType::Gauge;
    case MetricType::histogram:
      break;
  }
  return prometheus::MetricType::Histogram;
}

prometheus::ClientMetric::Histogram histogram_of(const MetricSample& sample) {
  prometheus::ClientMetric::Histogram out;
  const Shown shown = shown_of(sample.unit);
  for (std::size_t i = 0; i < HistogramView::kBuckets; ++i) {
    out.sample_count += sample.histogram.buckets[i];
    if (i < shown.first || i >= shown.end) continue;
    out.bucket.push_back({out.sample_count, static_cast<double>(std::uint64_t{1} << i) * sample.unit});
  }
  out.sample_sum = static_cast<double>(sample.histogram.sum) * sample.unit;
  return out;
}

prometheus::ClientMetric metric_of(const MetricEntry& entry, MetricSample& sample) {
  prometheus::ClientMetric metric;
  const auto names = label_names(entry);
  for (std::size_t i = 0; i < names.size(); ++i) {
    metric.label.push_back({std::string(names[i]), std::move(sample.labels[i])});
  }
  if (entry.type == MetricType::counter) metric.counter.value = sample.value;
  if (entry.type == MetricType::gauge) metric.gauge.value = sample.value;
  if (entry.type == MetricType::histogram) metric.histogram = histogram_of(sample);
  return metric;
}

}  // namespace

std::string metrics_text(MetricSamples samples) {
  std::vector<prometheus::MetricFamily> families;
  for (const MetricEntry& entry : metric_table()) {
    families.push_back({std::string(entry.name), std::string(entry.help), type_of(entry.type), {}});
  }
  for (MetricSample& sample : samples) {
    const auto index = static_cast<std::size_t>(sample.id);
    families[index].metric.push_back(metric_of(metric_table()[index], sample));
  }
  std::erase_if(families, [](const prometheus::MetricFamily& family) { return family.metric.empty(); });
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families);
  return out.str();
}

}  // namespace holdfast
