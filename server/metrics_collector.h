// Makes what /metrics and /readyz say, out of what the threads publish: it reads their counters without their help, and
// asks for single items without waiting. One thread, that of the metrics server.
#pragma once

#include "server/items_report.h"
#include "server/metric_table.h"
#include "server/sink_board.h"
#include "server/snapshot_board.h"
#include "server/thread_stats.h"
#include "storage/clock.h"
#include "storage/log_status.h"

#include <memory>
#include <optional>

namespace holdfast {

/// What of the server a scrape may read. Any thread may call, at any time.
class MetricsSource {
 public:
  struct LogFigures {
    const LogStatus* status = nullptr;
    std::uint64_t incarnation = 0;
    const SnapshotBoard* snapshots = nullptr;
    std::shared_ptr<const SinkBoard> sinks;
  };
  struct Loading {
    bool done = false;
    std::uint64_t bytes_done = 0;
    std::uint64_t bytes_total = 0;
  };

  virtual ~MetricsSource() = default;
  /// Of each thread that serves.
  virtual std::vector<const ThreadStats*> threads() const = 0;
  /// There when loading() is done.
  virtual std::optional<LogFigures> log() const = 0;
  virtual Loading loading() const = 0;
  virtual bool stopping() const = 0;
  /// Asks the shards for their items; take_items has the answer some time later.
  virtual void ask_items() = 0;
  virtual std::unique_ptr<ItemsReport> take_items() = 0;
};

class MetricsCollector {
 public:
  struct Readiness {
    bool ready = false;
    std::string text;  // for people
  };

  MetricsCollector(std::uint64_t segment_bytes, Clock& clock, MetricsSource& source)
      : segment_bytes_(segment_bytes), clock_(clock), source_(source) {}

  /// Asks for items; has_items_since tells whether they came. Returns what that wants to know.
  std::uint64_t ask_items();
  bool has_items_since(std::uint64_t asked);
  /// Everything there is to tell now, with the items that came last. `fresh`: whether they came for this scrape.
  MetricSamples collect(bool fresh);
  Readiness readiness() const;

 private:
  void add(MetricId id, double value, std::vector<std::string> labels = {});
  void add(MetricId id, const HistogramView& histogram, double unit, std::vector<std::string> labels = {});
  template <class Get>
  double sum(Get get) const;
  void collect_process();
  void collect_commands();
  void collect_command(const CommandEntry& command);
  void collect_connections();
  void collect_items();
  void collect_shards();
  SpaceState space_of(const LogStatus& status) const;
  void collect_sinks(const SinkBoard& sinks, Lsn durable);
  void collect_log(const MetricsSource::LogFigures& log);
  void collect_snapshots(const SnapshotBoard& board);

  std::uint64_t segment_bytes_;
  Clock& clock_;
  MetricsSource& source_;
  std::vector<const ThreadStats*> threads_;
  ItemsReport items_;
  std::uint64_t answers_ = 0;
  std::uint64_t scrapes_ = 0;
  std::uint64_t stale_ = 0;
  double last_seconds_ = 0;
  MetricSamples samples_;
};

}  // namespace holdfast
