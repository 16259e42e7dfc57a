#include "tools/relay_metrics.h"

#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <prometheus/metric_family.h>

namespace holdfast {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

class Collector final : public prometheus::Collectable {
 public:
  explicit Collector(const RelayRunner& runner) : runner_(runner) {}

  std::vector<MetricFamily> Collect() const override {
    const auto statuses = runner_.statuses();
    std::vector<MetricFamily> families;
    const auto add = [&](std::string_view name, MetricType type, std::string_view help, const auto& value_of) {
      MetricFamily& family = families.emplace_back();
      family.name = name;
      family.help = help;
      family.type = type;
      for (const NamedStatus& each : statuses) {
        prometheus::ClientMetric& metric = family.metric.emplace_back();
        metric.label.push_back({"sink", each.name});
        (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value_of(each.status);
      }
    };
#define HOLDFAST_RELAY_METRIC(name, type, value, help) \
  add(name, MetricType::type, help, [](const FeedStatus& s) { return static_cast<double>(value); });
#include "tools/relay_metrics.def"
#undef HOLDFAST_RELAY_METRIC
    return families;
  }

 private:
  const RelayRunner& runner_;
};

}  // namespace

class RelayMetrics::Impl {
 public:
  Impl(const std::string& address, const RelayRunner& runner)
      : collector_(std::make_shared<Collector>(runner)), exposer_(address, 1) {
    exposer_.RegisterCollectable(collector_);
  }

 private:
  std::shared_ptr<Collector> collector_;
  prometheus::Exposer exposer_;
};

RelayMetrics::RelayMetrics(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RelayMetrics::~RelayMetrics() = default;

Result<std::unique_ptr<RelayMetrics>> RelayMetrics::serve(const std::string& address, const RelayRunner& runner) {
  try {
    return std::unique_ptr<RelayMetrics>(new RelayMetrics(std::make_unique<Impl>(address, runner)));
  } catch (const std::exception& error) {
    return Error::format(ErrorCode::bad_option, "--metrics-port: {} cannot be served: {}", address, error.what());
  }
}

}  // namespace holdfast
