#include "server/telemetry.h"

#include "server/options.h"

#include <algorithm>

namespace holdfast {
namespace {

using Nanos = Telemetry::Nanos;

std::uint64_t count_of(Nanos time) noexcept {
  return static_cast<std::uint64_t>(std::max<Nanos::rep>(time.count(), 0));
}

}  // namespace

Telemetry::Telemetry(const Options& options, SharedTelemetry& shared) : options_(options), shared_(shared) {
  touched_.reserve(kCommandCount);
  shared.add(stats);
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

void Telemetry::note_view_refusal(ReserveOutcome outcome) {
  stats.commands[static_cast<std::size_t>(CommandId::reserve)].calls.add();
  stats.reserve[static_cast<std::size_t>(outcome)].add();
  stats.view_refusals.add();
  tally(CommandId::reserve);
  ++view_refusals_;
}

void Telemetry::end_reads(const ClockReading& reading) {
  batch_began_ = reading.boot;
  longest_batch_ = {};
  unix_seconds_ = std::chrono::duration_cast<std::chrono::seconds>(reading.wall).count();
  const std::uint64_t requests = stats.requests.value() - requests_before_;
  requests_before_ += requests;
  worked_ = requests > 0;
  const std::size_t answered = session_commands_ + view_refusals_;
  if (answered == 0) return;
  const Nanos took = reading.boot - began_;
  share(std::max<std::size_t>(requests, answered), took, touched_);
  for (const std::uint16_t id : touched_) counts_[id] = 0;
  touched_.clear();
  if (!first_session_.empty() && is_slow(took)) {
    first_session_.add_batch(session_commands_ - 1);
    add_slow(entry_of(first_session_, took), {session_address_, session_name_});
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

SlowLog::Entry Telemetry::slow_batch(std::span<const StepCommand> commands) const {
  const auto counts = [](const StepCommand& command) { return command.counts(); };
  const auto first = std::find_if(commands.begin(), commands.end(), counts);
  if (first == commands.end()) return {};
  // The words of EXEC are those of all that was queued, packed, their secrets among them.
  const bool packed = first->entry->id == CommandId::exec;
  constexpr std::string_view kExec[] = {"EXEC"};
  ClippedWords words;
  words.assign(*first->entry, packed ? Words(kExec) : first->words);
  words.add_batch(static_cast<std::size_t>(std::count_if(first + 1, commands.end(), counts)));
  return entry_of(words, last_batch_);
}

void Telemetry::note_replies(std::span<const ArrivalTally> arrivals) {
  finished_.insert(finished_.end(), arrivals.begin(), arrivals.end());
}

void Telemetry::end_turn(Nanos boot, std::uint64_t flush_ns) {
  const auto session = static_cast<std::size_t>(LatencyClass::session);
  if (session_commands_ > 0) stats.latency[session].observe(count_of(boot - began_), session_commands_);
  session_commands_ = 0;
  const auto reserve = static_cast<std::size_t>(LatencyClass::reserve);
  if (view_refusals_ > 0) stats.latency[reserve].observe(count_of(boot - began_), view_refusals_);
  view_refusals_ = 0;
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

SlowLog::Entry Telemetry::entry_of(const ClippedWords& words, Nanos took) const {
  return {0, unix_seconds_, count_of(took) / 1000, words.take(), {}, {}};
}

void Telemetry::add_slow(SlowLog::Entry entry, Client client) {
  entry.address = client.address;
  entry.name = client.name;
  shared_.add_slow(std::move(entry), options_.slowlog_max_len);
}

void Telemetry::note_latency(LatencyEvent event, Nanos took) {
  const std::uint64_t ms = count_of(took) / 1'000'000;
  if (ms >= options_.latency_monitor_threshold) shared_.add_latency(event, {unix_seconds_, ms});
}

bool Telemetry::is_slow(Nanos took) const noexcept {
  return options_.slowlog_log_slower_than && count_of(took) / 1000 >= *options_.slowlog_log_slower_than;
}

}  // namespace holdfast
