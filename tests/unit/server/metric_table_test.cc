#include "server/metric_table.h"

#include "server/metrics_text.h"

#include "tests/doctest.h"

#include <algorithm>
#include <set>

using namespace holdfast;

namespace {

bool is_name(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

}  // namespace

TEST_CASE("metric table: names are unique and follow Prometheus's conventions") {
  std::set<std::string_view> names;
  for (const MetricEntry& entry : metric_table()) {
    CAPTURE(entry.name);
    CHECK(names.insert(entry.name).second);
    CHECK((entry.name.starts_with("holdfast_") || entry.name.starts_with("process_")));
    CHECK(is_name(entry.name));
    CHECK(entry.name.ends_with("_total") == (entry.type == MetricType::counter));
    CHECK(entry.help.ends_with('.'));
    for (const auto label : label_names(entry)) CHECK((is_name(label) && !label.empty()));
  }
}

TEST_CASE("metric table: an entry stands at its own index, its labels in order") {
  for (std::size_t i = 0; i < metric_table().size(); ++i) {
    CHECK(static_cast<std::size_t>(metric_table()[i].id) == i);
  }
  const auto labels = label_names(metric_table()[static_cast<std::size_t>(MetricId::build_info)]);
  CHECK(labels == std::vector<std::string_view>{"version", "revision", "compiler"});
  CHECK(label_names(metric_table()[static_cast<std::size_t>(MetricId::items)]).empty());
}

TEST_CASE("metric table: a scrape's text has each family once, with escaped labels") {
  MetricSamples samples;
  samples.push_back({MetricId::item_stock, {"a\"b\\"}, 5, {}, 1});
  samples.push_back({MetricId::items, {}, 2, {}, 1});
  samples.push_back({MetricId::item_stock, {"c"}, 9007199254740991, {}, 1});
  const std::string text = metrics_text(std::move(samples));
  CHECK(text.find("# TYPE holdfast_items gauge\nholdfast_items 2\n") != std::string::npos);
  CHECK(text.find("holdfast_item_stock{item=\"a\\\"b\\\\\"} 5\n") != std::string::npos);
  CHECK(text.find("holdfast_item_stock{item=\"c\"} 9007199254740991\n") != std::string::npos);
  CHECK(text.find("# TYPE holdfast_item_stock") == text.rfind("# TYPE holdfast_item_stock"));
  CHECK(text.find("holdfast_alarm") == std::string::npos);
}

TEST_CASE("metric table: a histogram of nanoseconds is shown in seconds, cumulative, the outermost buckets too") {
  PowerHistogram histogram;
  histogram.observe(1000);
  histogram.observe(20'000, 3);
  histogram.observe(std::uint64_t{60'000'000'000});
  MetricSamples samples;
  samples.push_back({MetricId::turns, {}, 0, histogram.view(), 1e-9});
  const std::string text = metrics_text(std::move(samples));
  CHECK(text.find("_bucket{le=\"1.6384e-05\"} 1\n") != std::string::npos);
  CHECK(text.find("_bucket{le=\"3.2768e-05\"} 4\n") != std::string::npos);
  CHECK(text.find("_bucket{le=\"+Inf\"} 5\n") != std::string::npos);
  CHECK(text.find("holdfast_turn_duration_seconds_count 5\n") != std::string::npos);
}
