#include "server/telemetry.h"

#include "server/options.h"

#include <algorithm>

namespace holdfast {
namespace {

using Nanos = Telemetry::Nanos;

std::uint64_t count_of(Nanos time) noexcept {
  return static_cast<std::uint64_t>(std::max<Nanos::rep>(time.count(), 0));
}

CommandTotals now_of(const CommandCounts& counts) {
  return {counts.calls.value(), counts.rejected.value(), counts.failed.value(), counts.duration_ns.value(),
          counts.duration.view()};
}

WorkTotals now_of(const ThreadStats& stats) {
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

struct Telemetry::Baseline {
  std::array<CommandTotals, kCommandCount> commands{};
  std::array<std::uint64_t, kErrorCodes + 1> errors{};
  WorkTotals work;
};

Telemetry::Telemetry(const Options& options) : options_(options), baseline_(std::make_unique<Baseline>()) {
  touched_.reserve(kCommandCount);
}

Telemetry::~Telemetry() = default;

// Since the last reset.

CommandTotals Telemetry::totals(CommandId id) const {
  const auto index = static_cast<std::size_t>(id);
  const CommandTotals& before = baseline_->commands[index];
  CommandTotals totals = now_of(stats.commands[index]);
  totals.calls -= before.calls;
  totals.rejected -= before.rejected;
  totals.failed -= before.failed;
  totals.duration_ns -= before.duration_ns;
  totals.duration -= before.duration;
  return totals;
}

WorkTotals Telemetry::totals() const {
  const WorkTotals& before = baseline_->work;
  WorkTotals totals = now_of(stats);
  totals.requests -= before.requests;
  totals.error_replies -= before.error_replies;
  totals.connections_received -= before.connections_received;
  totals.connections_rejected -= before.connections_rejected;
  totals.input_bytes -= before.input_bytes;
  totals.output_bytes -= before.output_bytes;
  totals.expired -= before.expired;
  totals.reads -= before.reads;
  totals.writes -= before.writes;
  totals.clients_evicted -= before.clients_evicted;
  totals.clients_timed_out -= before.clients_timed_out;
  totals.slow_subscribers -= before.slow_subscribers;
  totals.wrong_secrets -= before.wrong_secrets;
  totals.denied_commands -= before.denied_commands;
  return totals;
}

std::vector<std::pair<std::string_view, std::uint64_t>> Telemetry::error_totals() const {
  std::vector<std::pair<std::string_view, std::uint64_t>> totals;
  for (std::size_t i = 0; i < stats.errors.size(); ++i) {
    const std::uint64_t count = stats.errors[i].value() - baseline_->errors[i];
    if (count > 0) totals.emplace_back(error_word(i), count);
  }
  return totals;
}

void Telemetry::reset() {
  for (std::size_t i = 0; i < kCommandCount; ++i) baseline_->commands[i] = now_of(stats.commands[i]);
  for (std::size_t i = 0; i < stats.errors.size(); ++i) baseline_->errors[i] = stats.errors[i].value();
  baseline_->work = now_of(stats);
}

// The turn.

void Telemetry::note_session(const CommandEntry& command, Words words, bool failed, Client client) {
  CommandCounts& counts = stats.commands[static_cast<std::size_t>(command.id)];
  counts.calls.add();
  if (failed) counts.failed.add();
  tally(command.id);
  if (session_commands_++ > 0 || !options_.slowlog_log_slower_than) return;
  first_session_.assign(command, words);
  session_address_ = client.address;
  session_name_ = client.name;
}

void Telemetry::end_reads(const ClockReading& reading) {
  batch_began_ = reading.boot;
  longest_batch_ = {};
  unix_seconds_ = std::chrono::duration_cast<std::chrono::seconds>(reading.wall).count();
  const std::uint64_t requests = stats.requests.value() - requests_before_;
  requests_before_ += requests;
  worked_ = requests > 0;
  if (session_commands_ == 0) return;
  const Nanos took = reading.boot - began_;
  share(std::max<std::size_t>(requests, session_commands_), took, touched_);
  for (const std::uint16_t id : touched_) counts_[id] = 0;
  touched_.clear();
  if (!first_session_.empty() && is_slow(took)) {
    first_session_.add_batch(session_commands_ - 1);
    add_slow(first_session_, took, {session_address_, session_name_});
  }
  first_session_.clear();
}

bool Telemetry::note_batch(std::span<const StepCommand> commands, Nanos boot) noexcept {
  last_batch_ = boot - batch_began_;
  longest_batch_ = std::max(longest_batch_, last_batch_);
  batch_began_ = boot;
  worked_ = true;
  std::size_t count = 0;
  for (const StepCommand& command : commands) {
    if (!command.counts()) continue;
    tally(command.entry->id);
    ++count;
  }
  share(count, last_batch_, touched_);
  for (const std::uint16_t id : touched_) {
    stats.commands[id].calls.add(counts_[id]);
    counts_[id] = 0;
  }
  touched_.clear();
  return count > 0 && is_slow(last_batch_);
}

void Telemetry::add_slow_batch(std::span<const StepCommand> commands, Client client) {
  const auto counts = [](const StepCommand& command) { return command.counts(); };
  const auto first = std::find_if(commands.begin(), commands.end(), counts);
  if (first == commands.end()) return;
  // The words of EXEC are those of all that was queued, packed, their secrets among them.
  const bool packed = first->entry->id == CommandId::exec;
  constexpr std::string_view kExec[] = {"EXEC"};
  ClippedWords words;
  words.assign(*first->entry, packed ? Words(kExec) : first->words);
  words.add_batch(static_cast<std::size_t>(std::count_if(first + 1, commands.end(), counts)));
  add_slow(words, last_batch_, client);
}

void Telemetry::note_replies(std::span<const ArrivalTally> arrivals) {
  finished_.insert(finished_.end(), arrivals.begin(), arrivals.end());
}

void Telemetry::end_turn(Nanos boot, std::uint64_t flush_ns) {
  const auto session = static_cast<std::size_t>(LatencyClass::session);
  if (session_commands_ > 0) stats.latency[session].observe(count_of(boot - began_), session_commands_);
  session_commands_ = 0;
  for (const ArrivalTally& arrival : finished_) {
    for (std::size_t i = 0; i < arrival.counts.size(); ++i) {
      if (arrival.counts[i] > 0) stats.latency[i].observe(count_of(boot - arrival.arrived), arrival.counts[i]);
    }
  }
  finished_.clear();
  stats.turn.observe(count_of(boot - began_));
  worked_ = false;
  if (options_.latency_monitor_threshold == 0) return;
  note_latency(LatencyEvent::turn, boot - began_);
  note_latency(LatencyEvent::command, longest_batch_);
  note_latency(LatencyEvent::flush, Nanos(flush_ns));
}

/// Each command's even share of what `count` commands took.
void Telemetry::share(std::size_t count, Nanos took, std::span<const std::uint16_t> touched) noexcept {
  if (count == 0) return;
  const std::uint64_t each = count_of(took) / count;
  for (const std::uint16_t id : touched) {
    stats.commands[id].duration_ns.add(each * counts_[id]);
    stats.commands[id].duration.observe(each, counts_[id]);
  }
}

void Telemetry::tally(CommandId id) noexcept {
  const auto index = static_cast<std::uint16_t>(id);
  if (counts_[index]++ == 0) touched_.push_back(index);
}

void Telemetry::add_slow(const ClippedWords& words, Nanos took, Client client) {
  slow_log.add(
      {0, unix_seconds_, count_of(took) / 1000, words.take(), std::string(client.address), std::string(client.name)},
      options_.slowlog_max_len);
}

void Telemetry::note_latency(LatencyEvent event, Nanos took) {
  const std::uint64_t ms = count_of(took) / 1'000'000;
  if (ms >= options_.latency_monitor_threshold) latency.add(event, {unix_seconds_, ms});
}

bool Telemetry::is_slow(Nanos took) const noexcept {
  return options_.slowlog_log_slower_than && count_of(took) / 1000 >= *options_.slowlog_log_slower_than;
}

}  // namespace holdfast
