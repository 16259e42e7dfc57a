#include "server/shared_telemetry.h"

#include <algorithm>

namespace holdfast {
namespace {

constexpr std::uint64_t WorkTotals::*kWorkFields[] = {&WorkTotals::requests,
                                                      &WorkTotals::error_replies,
                                                      &WorkTotals::connections_received,
                                                      &WorkTotals::input_bytes,
                                                      &WorkTotals::output_bytes,
                                                      &WorkTotals::connections_rejected,
                                                      &WorkTotals::expired,
                                                      &WorkTotals::reads,
                                                      &WorkTotals::writes,
                                                      &WorkTotals::clients_evicted,
                                                      &WorkTotals::clients_timed_out,
                                                      &WorkTotals::slow_subscribers,
                                                      &WorkTotals::wrong_secrets,
                                                      &WorkTotals::denied_commands};
static_assert(sizeof(WorkTotals) == std::size(kWorkFields) * sizeof(std::uint64_t), "each field is subtracted");

WorkTotals work_of(const ThreadStats& stats) {
  const auto closed = [&](CloseReason reason) {
    return stats.connections_closed[static_cast<std::size_t>(reason)].value();
  };
  WorkTotals totals;
  totals.requests = stats.requests.value();
  totals.error_replies = stats.error_replies();
  totals.connections_received = stats.connections_received.value();
  totals.connections_rejected = stats.connections_rejected.value();
  totals.input_bytes = stats.input_bytes.value();
  totals.output_bytes = stats.output_bytes.value();
  totals.expired = stats.changes[static_cast<std::size_t>(ReservationEvent::expire) - 1].value();
  totals.reads = stats.reads.value();
  totals.writes = stats.writes.value();
  totals.clients_evicted = closed(CloseReason::evicted);
  totals.clients_timed_out = closed(CloseReason::deadline);
  totals.slow_subscribers = closed(CloseReason::subscriber);
  totals.wrong_secrets = stats.wrong_secrets.value();
  totals.denied_commands = stats.commands_denied.value();
  return totals;
}

}  // namespace

struct SharedTelemetry::Baseline {
  std::array<CommandTotals, kCommandCount> commands{};
  std::array<std::uint64_t, kErrorCodes + 1> errors{};
  WorkTotals work;
};

SharedTelemetry::SharedTelemetry() : baseline_(std::make_unique<Baseline>()) {}
SharedTelemetry::~SharedTelemetry() = default;

void SharedTelemetry::add(const ThreadStats& stats) { threads_.push_back(&stats); }

CommandTotals SharedTelemetry::now_of(CommandId id) const {
  CommandTotals totals;
  for (const ThreadStats* stats : threads_) {
    const CommandCounts& counts = stats->commands[static_cast<std::size_t>(id)];
    totals.calls += counts.calls.value();
    totals.rejected += counts.rejected.value();
    totals.failed += counts.failed.value();
    totals.duration_ns += counts.duration_ns.value();
    totals.duration += counts.duration.view();
  }
  return totals;
}

WorkTotals SharedTelemetry::now_of_all() const {
  WorkTotals totals;
  for (const ThreadStats* stats : threads_) {
    const WorkTotals part = work_of(*stats);
    for (const auto field : kWorkFields) totals.*field += part.*field;
  }
  return totals;
}

CommandTotals SharedTelemetry::totals(CommandId id) const {
  const std::lock_guard lock(mutex_);
  const CommandTotals& before = baseline_->commands[static_cast<std::size_t>(id)];
  CommandTotals totals = now_of(id);
  totals.calls -= before.calls;
  totals.rejected -= before.rejected;
  totals.failed -= before.failed;
  totals.duration_ns -= before.duration_ns;
  totals.duration -= before.duration;
  return totals;
}

WorkTotals SharedTelemetry::totals() const {
  const std::lock_guard lock(mutex_);
  WorkTotals totals = now_of_all();
  for (const auto field : kWorkFields) totals.*field -= baseline_->work.*field;
  return totals;
}

std::vector<std::pair<std::string_view, std::uint64_t>> SharedTelemetry::error_totals() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::string_view, std::uint64_t>> totals;
  for (std::size_t i = 0; i < baseline_->errors.size(); ++i) {
    const std::uint64_t count =
        sum([i](const ThreadStats& stats) -> auto& { return stats.errors[i]; }) - baseline_->errors[i];
    if (count > 0) totals.emplace_back(error_word(i), count);
  }
  return totals;
}

void SharedTelemetry::reset() {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < kCommandCount; ++i) baseline_->commands[i] = now_of(static_cast<CommandId>(i));
  for (std::size_t i = 0; i < baseline_->errors.size(); ++i) {
    baseline_->errors[i] = sum([i](const ThreadStats& stats) -> auto& { return stats.errors[i]; });
  }
  baseline_->work = now_of_all();
}

// SLOWLOG.

void SharedTelemetry::add_slow(SlowLog::Entry entry, std::size_t kept_max) {
  const std::lock_guard lock(mutex_);
  slow_log_.add(std::move(entry), kept_max);
}

std::vector<SlowLog::Entry> SharedTelemetry::slow_entries(std::size_t count_max) const {
  const std::lock_guard lock(mutex_);
  const auto& entries = slow_log_.entries();
  return {entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(std::min(count_max, entries.size()))};
}

std::size_t SharedTelemetry::slow_count() const {
  const std::lock_guard lock(mutex_);
  return slow_log_.entries().size();
}

void SharedTelemetry::reset_slow() {
  const std::lock_guard lock(mutex_);
  slow_log_.reset();
}

// LATENCY.

void SharedTelemetry::add_latency(LatencyEvent event, LatencyMonitor::Sample sample) {
  const std::lock_guard lock(mutex_);
  latency_.add(event, sample);
}

LatencyMonitor::Series SharedTelemetry::latency(LatencyEvent event) const {
  const std::lock_guard lock(mutex_);
  return latency_.series(event);
}

bool SharedTelemetry::reset_latency(LatencyEvent event) {
  const std::lock_guard lock(mutex_);
  return latency_.reset(event);
}

}  // namespace holdfast
