#include "server/metric_table.h"

namespace holdfast {
namespace {

constexpr MetricEntry kMetrics[] = {
#define HOLDFAST_METRIC(id, name, type, labels, info, help) {MetricId::id, name, MetricType::type, labels, info, help},
#include "server/metrics.def"
#undef HOLDFAST_METRIC
};

}  // namespace

std::span<const MetricEntry> metric_table() noexcept { return kMetrics; }

std::vector<std::string_view> label_names(const MetricEntry& entry) {
  std::vector<std::string_view> names;
  for (std::string_view rest = entry.labels; !rest.empty();) {
    const std::size_t end = rest.find(',');
    names.push_back(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  return names;
}

}  // namespace holdfast
