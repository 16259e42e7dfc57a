#include "server/metrics_collector.h"

#include "protocol/check.h"
#include "server/limits.h"
#include "server/printable.h"
#include "server/process_figures.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast {
namespace {

constexpr double kNanos = 1e-9;
constexpr double kMillis = 1e-3;

double number(std::uint64_t value) { return static_cast<double>(value); }
std::string text(std::string_view view) { return std::string(view); }

constexpr std::array<std::string_view, kReservationEvents> kEventNames = {"reserve", "confirm", "resume", "release",
                                                                          "expire",  "refund",  "extend"};
/// Of SpaceState, and then what the sinks may say.
constexpr std::array<std::string_view, 6> kSpaceNames = {"ok", "no_next_segment", "low", "slow", "retention", "fenced"};
constexpr std::size_t kSpaceRetention = 4, kSpaceFenced = 5;

}  // namespace

std::uint64_t MetricsCollector::ask_items() {
  source_.ask_items();
  return answers_;
}

bool MetricsCollector::has_items_since(std::uint64_t asked) {
  if (auto report = source_.take_items(); report != nullptr) {
    items_ = std::move(*report);
    ++answers_;
  }
  return answers_ > asked;
}

MetricsCollector::Readiness MetricsCollector::readiness() const {
  if (source_.stopping()) return {false, "stopping"};
  const MetricsSource::Loading loading = source_.loading();
  if (!loading.done) {
    const std::uint64_t percent =
        loading.bytes_total == 0 ? 0 : std::min<std::uint64_t>(99, loading.bytes_done * 100 / loading.bytes_total);
    return {false, fmt::format("loading {}%", percent)};
  }
  const auto log = source_.log();
  CHECK(log.has_value());
  // CONFIRM and RELEASE go on while new reservations are refused, so that the server stays in service.
  const std::string_view why = refusal_of(space_of(*log->status), *log->sinks);
  if (why.empty()) return {true, "ready"};
  return {true, fmt::format("ready, but new reservations are refused: {}", why)};
}

SpaceState MetricsCollector::space_of(const LogStatus& status) const {
  std::uint64_t slow_ms = 0;
  for (const ThreadStats* stats : source_.threads()) slow_ms = std::max(slow_ms, stats->slow_flush_max_ms.value());
  return status.space_at(clock_.boot(), Millis(static_cast<Millis::rep>(slow_ms)));
}

MetricSamples MetricsCollector::collect(bool fresh) {
  const auto began = clock_.boot();
  threads_ = source_.threads();
  samples_.clear();
  ++scrapes_;
  if (!fresh) ++stale_;
  collect_process();
  collect_commands();
  collect_connections();
  collect_items();
  collect_shards();
  if (const auto log = source_.log()) collect_log(*log);
  add(MetricId::scrapes, number(scrapes_));
  add(MetricId::scrape_time, last_seconds_);
  add(MetricId::scrapes_stale, number(stale_));
  last_seconds_ = std::chrono::duration<double>(clock_.boot() - began).count();
  return std::move(samples_);
}

void MetricsCollector::add(MetricId id, double value, std::vector<std::string> labels) {
  samples_.push_back({id, std::move(labels), value, {}, 1});
}

void MetricsCollector::add(MetricId id, const HistogramView& histogram, double unit, std::vector<std::string> labels) {
  samples_.push_back({id, std::move(labels), 0, histogram, unit});
}

/// Of a counter, over all threads.
template <class Get>
double MetricsCollector::sum(Get get) const {
  std::uint64_t sum = 0;
  for (const ThreadStats* stats : threads_) sum += get(*stats).value();
  return number(sum);
}

void MetricsCollector::collect_process() {
  add(MetricId::build_info, 1, {HOLDFAST_VERSION, HOLDFAST_REVISION, HOLDFAST_COMPILER});
  const ProcessFigures process = read_process_figures();
  add(MetricId::start_time, process.start_time_seconds);
  add(MetricId::process_cpu, process.cpu_seconds);
  for (const auto& thread : process.threads) add(MetricId::thread_cpu, thread.seconds, {thread.name});
  add(MetricId::resident_memory, number(process.resident_bytes));
  add(MetricId::virtual_memory, number(process.virtual_bytes));
  add(MetricId::open_fds, number(process.open_fds));
  add(MetricId::max_fds, number(process.max_fds));
  add(MetricId::ready, readiness().ready ? 1 : 0);
  const MetricsSource::Loading loading = source_.loading();
  add(MetricId::loading, loading.done ? 0 : 1);
  add(MetricId::loading_done, number(loading.bytes_done));
  add(MetricId::loading_size, number(loading.bytes_total));
}

void MetricsCollector::collect_commands() {
  add(MetricId::requests, sum([](const ThreadStats& stats) -> auto& { return stats.requests; }));
  add(MetricId::view_refusals, sum([](const ThreadStats& stats) -> auto& { return stats.view_refusals; }));
  for (const CommandEntry& command : command_table()) collect_command(command);
  for (std::size_t i = 0; i <= kErrorCodes; ++i) {
    if (error_word(i).empty()) continue;
    add(MetricId::errors, sum([&](const ThreadStats& stats) -> auto& { return stats.errors[i]; }),
        {text(error_word(i))});
  }
  for (std::size_t i = 0; i < kLatencyClasses; ++i) {
    HistogramView latency;
    for (const ThreadStats* stats : threads_) latency += stats->latency[i].view();
    add(MetricId::latency, latency, kNanos, {text(latency_class_name(static_cast<LatencyClass>(i)))});
  }
  for (std::size_t i = 0; i < kReservationEvents; ++i) {
    add(MetricId::changes, sum([&](const ThreadStats& stats) -> auto& { return stats.changes[i]; }),
        {text(kEventNames[i])});
  }
}

/// The series of RESERVE and the verbs are there from the start, those of other commands from their first call.
void MetricsCollector::collect_command(const CommandEntry& command) {
  const auto index = static_cast<std::size_t>(command.id);
  const std::string name = full_name(command);
  const auto counts = [&](Counter CommandCounts::*member) {
    return sum([&](const ThreadStats& stats) -> auto& { return stats.commands[index].*member; });
  };
  const double calls = counts(&CommandCounts::calls), failed = counts(&CommandCounts::failed);
  const double rejected = counts(&CommandCounts::rejected);
  const auto verb = verb_index(command.id);
  const bool reserve = command.id == CommandId::reserve;
  if (calls + rejected == 0 && !verb && !reserve) return;
  if (reserve) {
    for (std::size_t i = 0; i < kReserveOutcomes; ++i) {
      add(MetricId::commands, sum([&](const ThreadStats& stats) -> auto& { return stats.reserve[i]; }),
          {name, text(outcome_word(static_cast<ReserveOutcome>(i)))});
    }
  } else if (verb) {
    for (std::size_t i = 0; i < kVerbOutcomes; ++i) {
      add(MetricId::commands, sum([&](const ThreadStats& stats) -> auto& { return stats.verbs[*verb][i]; }),
          {name, text(outcome_word(static_cast<VerbOutcome>(i)))});
    }
  } else {
    add(MetricId::commands, std::max(0.0, calls - failed), {name, "ok"});
  }
  add(MetricId::commands, failed, {name, "error"});
  add(MetricId::commands, rejected, {name, "rejected"});
  add(MetricId::command_time, counts(&CommandCounts::duration_ns) * kNanos, {name});
}

void MetricsCollector::collect_connections() {
  add(MetricId::connections, sum([](const ThreadStats& stats) -> auto& { return stats.connections; }));
  add(MetricId::connections_limit, sum([](const ThreadStats& stats) -> auto& { return stats.connections_limit; }));
  add(MetricId::connections_received,
      sum([](const ThreadStats& stats) -> auto& { return stats.connections_received; }));
  add(MetricId::connections_rejected,
      sum([](const ThreadStats& stats) -> auto& { return stats.connections_rejected; }));
  for (std::size_t i = 0; i < kCloseReasons; ++i) {
    add(MetricId::connections_closed,
        sum([&](const ThreadStats& stats) -> auto& { return stats.connections_closed[i]; }),
        {text(close_reason_name(static_cast<CloseReason>(i)))});
  }
  add(MetricId::wrong_secrets, sum([](const ThreadStats& stats) -> auto& { return stats.wrong_secrets; }));
  add(MetricId::denied, sum([](const ThreadStats& stats) -> auto& { return stats.commands_denied; }));
  add(MetricId::input, sum([](const ThreadStats& stats) -> auto& { return stats.input_bytes; }));
  add(MetricId::output, sum([](const ThreadStats& stats) -> auto& { return stats.output_bytes; }));
}

void MetricsCollector::collect_items() {
  const double fenced = sum([](const ThreadStats& stats) -> auto& { return stats.items_fenced; });
  add(MetricId::items, sum([](const ThreadStats& stats) -> auto& { return stats.items; }));
  add(MetricId::items_fenced, fenced);
  add(MetricId::law_ok, fenced == 0 ? 1 : 0);
  for (const ItemsReport::ItemFigures& item : items_.items) {
    const std::vector<std::string> labels = {printable_name(item.name)};
    add(MetricId::item_available, static_cast<double>(item.counters.available), labels);
    add(MetricId::item_reserved, static_cast<double>(item.counters.reserved), labels);
    add(MetricId::item_confirmed, static_cast<double>(item.counters.confirmed), labels);
    add(MetricId::item_held, static_cast<double>(item.counters.held), labels);
    add(MetricId::item_stock, static_cast<double>(item.total), labels);
    add(MetricId::item_sequence, number(item.sequence.value()), labels);
  }
  add(MetricId::memory, number(items_.memory.rows), {"rows"});
  add(MetricId::memory, number(items_.memory.indexes), {"indexes"});
  add(MetricId::memory, number(items_.memory.names), {"names"});
  add(MetricId::memory, number(items_.memory.others), {"others"});
  add(MetricId::memory, sum([](const ThreadStats& stats) -> auto& { return stats.input_buffer_bytes; }),
      {"connection_input"});
  add(MetricId::memory, sum([](const ThreadStats& stats) -> auto& { return stats.output_buffer_bytes; }),
      {"connection_output"});
}

void MetricsCollector::collect_shards() {
  add(MetricId::gate_waiting, sum([](const ThreadStats& stats) -> auto& { return stats.gate_waiting; }));
  add(MetricId::waits, sum([](const ThreadStats& stats) -> auto& { return stats.waits; }) +
                           sum([](const ThreadStats& stats) -> auto& { return stats.client_waits; }));
  add(MetricId::outstanding, sum([](const ThreadStats& stats) -> auto& { return stats.commands_outstanding; }));
  add(MetricId::credits, sum([](const ThreadStats& stats) -> auto& { return stats.commands_credit; }));
  add(MetricId::groups_at_log, sum([](const ThreadStats& stats) -> auto& { return stats.groups_at_log; }));
  HistogramView turns;
  std::uint64_t lag = 0, hold = 0, wall = 0;
  for (const ThreadStats* stats : threads_) {
    turns += stats->turn.view();
    lag = std::max(lag, stats->sweep_lag_ms.value());
    hold = std::max(hold, stats->hold_ms.value());
    wall = std::max(wall, stats->wall_ms.value());
  }
  add(MetricId::turns, turns, kNanos);
  add(MetricId::sweep_lag, number(lag) * kMillis);
  add(MetricId::hold_clock, number(hold) * kMillis);
  add(MetricId::wall_clock, number(wall) * kMillis);
}

void MetricsCollector::collect_sinks(const SinkBoard& sinks, Lsn durable) {
  add(MetricId::retention_bytes, number(sinks.held_bytes));
  add(MetricId::retention_limit, number(sinks.held_bytes_max));
  const WallTime now(std::chrono::duration_cast<Millis>(clock_.read().wall));
  for (const SinkBoard::Entry& sink : sinks.sinks) {
    add(MetricId::sink_acked, number(sink.acked.value()), {sink.name});
    add(MetricId::sink_lag, number(durable.value() - std::min(durable, sink.acked).value()), {sink.name});
    add(MetricId::sink_lag_bytes, number(sink.lag_bytes), {sink.name});
    add(MetricId::sink_parked, number(sink.parked->size()), {sink.name});
    add(MetricId::sink_age, std::max(0.0, static_cast<double>((now - sink.acked_at).count()) * kMillis), {sink.name});
  }
}

void MetricsCollector::collect_log(const MetricsSource::LogFigures& log) {
  const LogStatus& status = *log.status;
  add(MetricId::durable_lsn, number(status.durable_lsn.load(std::memory_order_relaxed)));
  const std::uint64_t written = status.written_lsn.load(std::memory_order_relaxed);
  add(MetricId::written_lsn, number(written));
  add(MetricId::next_lsn, number(written + 1));
  add(MetricId::flushes, status.flush_ns.view(), kNanos);
  add(MetricId::batch_records, status.batch_records.view(), 1);
  add(MetricId::batch_sizes, status.batch_sizes.view(), 1);
  add(MetricId::batches, number(status.batches.load(std::memory_order_relaxed)));
  add(MetricId::log_bytes, number(status.batch_bytes.load(std::memory_order_relaxed)));
  add(MetricId::slow_flushes, number(status.slow_flushes.load(std::memory_order_relaxed)));
  add(MetricId::segment, number(status.segment.load(std::memory_order_relaxed)));
  add(MetricId::segment_used, number(status.segment_used_bytes.load(std::memory_order_relaxed)));
  add(MetricId::segment_size, number(segment_bytes_));
  add(MetricId::segments_prepared, status.next_segment_ready.load(std::memory_order_relaxed) ? 1 : 0);
  add(MetricId::free_bytes, number(status.free_bytes.load(std::memory_order_relaxed)));
  auto space = static_cast<std::size_t>(space_of(status));
  if (!log.sinks->fenced.empty()) {
    space = kSpaceFenced;
  } else if (space == 0 && !log.sinks->overloaded.empty()) {
    space = kSpaceRetention;
  }
  for (std::size_t i = 0; i < kSpaceNames.size(); ++i) add(MetricId::space, i == space ? 1 : 0, {text(kSpaceNames[i])});
  collect_snapshots(*log.snapshots);
  collect_sinks(*log.sinks, Lsn(status.durable_lsn.load(std::memory_order_relaxed)));
  add(MetricId::incarnation, number(log.incarnation));
  for (std::size_t i = 0; i < kLogAlarms; ++i) {
    const auto alarm = static_cast<LogAlarm>(i);
    add(MetricId::alarm, status.has(alarm) ? 1 : 0, {text(alarm_name(alarm))});
    add(MetricId::alarms_raised, number(status.alarm_count[i].load(std::memory_order_relaxed)),
        {text(alarm_name(alarm))});
  }
}

void MetricsCollector::collect_snapshots(const SnapshotBoard& board) {
  const SnapshotFigures figures = board.figures(clock_.read().boot);
  add(MetricId::snapshot_lsn, number(figures.lsn.value()));
  add(MetricId::snapshot_size, number(figures.bytes));
  add(MetricId::snapshot_made, static_cast<double>(to_ms(figures.made_at)) * kMillis);
  add(MetricId::snapshot_duration, static_cast<double>(std::max(figures.last, Millis(0)).count()) * kMillis);
  add(MetricId::snapshot_peak, number(figures.last_peak_bytes));
  add(MetricId::snapshot_running, figures.in_progress ? 1 : 0);
  add(MetricId::snapshots, number(figures.made));
  add(MetricId::snapshots_failed, number(figures.failed));
  add(MetricId::snapshot_failing, figures.failing ? 1 : 0);
  add(MetricId::segments_removed, number(board.removed_segments.load(std::memory_order_relaxed)));
}

}  // namespace holdfast
