// LATENCY, as Redis 7.2 answers it. Its events are command, flush and turn.
#include "server/options.h"
#include "server/session.h"
#include "server/session_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

namespace holdfast {
namespace {

struct Advice {
  LatencyEvent event;
  std::string_view meaning;
};
constexpr Advice kAdvice[] = {
    {LatencyEvent::command,
     "a batch of commands took long: SLOWLOG GET shows which. ITEM VERIFY, ITEM DROP, SMEMBERS and pages of many "
     "entries "
     "read all of an item; ask for less at once, or when nobody buys."},
    {LatencyEvent::flush,
     "the disk took long to make a write of the log durable, and all replies that rest on it waited. Look at "
     "holdfast_log_flush_duration_seconds and at who else writes to this disk."},
    {LatencyEvent::turn,
     "a turn of the loop took long. Without a command beside it, it was the reading and writing of sockets, or another "
     "process had the processor."},
};

std::optional<LatencyEvent> find_event(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kLatencyEvents; ++i) {
    const auto event = static_cast<LatencyEvent>(i);
    if (name == latency_event_name(event)) return event;
  }
  return std::nullopt;
}

std::vector<LatencyMonitor::Sample> samples_of(Session& session, std::string_view name) {
  const auto event = find_event(name);
  if (!event) return {};
  return session.host().telemetry().shared().latency(*event).samples;
}

/// Four lines, a column for each sample; the higher the mark, the longer it took.
std::string draw(std::span<const LatencyMonitor::Sample> samples, std::uint64_t low, std::uint64_t high) {
  constexpr std::size_t kRows = 4;
  constexpr std::string_view kMarks = "_-^#";
  std::string text;
  for (std::size_t row = kRows; row-- > 0;) {
    for (const LatencyMonitor::Sample& sample : samples) {
      const std::uint64_t level = high == low ? 0 : (sample.ms - low) * (kRows - 1) / (high - low);
      text += level == row ? kMarks[row] : level > row ? '|' : ' ';
    }
    text += '\n';
  }
  return text;
}

bool named(Words names, const CommandEntry& command) {
  if (names.empty()) return true;
  const std::string full = full_name(command);
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    std::string upper(full);
    std::transform(upper.begin(), upper.end(), upper.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    return equals_ignoring_case(name, upper) || equals_ignoring_case(name, command.name);
  });
}

void write_histogram(const CommandTotals& totals, ReplyWriter& reply) {
  // Redis's first bucket ends at 1,024 ns and shows as 1 us; each further one is twice as wide.
  constexpr std::size_t kFirst = 10;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> steps;
  std::uint64_t sum = 0, shown = 0;
  for (std::size_t i = 0; i < HistogramView::kBuckets; ++i) {
    sum += totals.duration.buckets[i];
    if (i < kFirst || sum == shown) continue;
    steps.emplace_back((std::uint64_t{1} << i) / 1000, sum);
    shown = sum;
  }
  reply.map(2);
  reply.bulk("calls");
  reply.integer(static_cast<std::int64_t>(sum));
  reply.bulk("histogram_usec");
  reply.map(steps.size());
  for (const auto& [usec, count] : steps) {
    reply.integer(static_cast<std::int64_t>(usec));
    reply.integer(static_cast<std::int64_t>(count));
  }
}

}  // namespace

void session_latency_latest(Session& session, Words, ReplyWriter& reply) {
  const SharedTelemetry& shared = session.host().telemetry().shared();
  std::vector<LatencyEvent> events;
  for (const Advice& advice : kAdvice) {
    if (!shared.latency(advice.event).samples.empty()) events.push_back(advice.event);
  }
  reply.array(events.size());
  for (const LatencyEvent event : events) {
    const LatencyMonitor::Series series = shared.latency(event);
    reply.array(4);
    reply.bulk(latency_event_name(event));
    reply.integer(series.samples.back().unix_seconds);
    reply.integer(static_cast<std::int64_t>(series.samples.back().ms));
    reply.integer(static_cast<std::int64_t>(series.max_ms));
  }
}

void session_latency_history(Session& session, Words words, ReplyWriter& reply) {
  const auto samples = samples_of(session, words[2]);
  reply.array(samples.size());
  for (const LatencyMonitor::Sample& sample : samples) {
    reply.array(2);
    reply.integer(sample.unix_seconds);
    reply.integer(static_cast<std::int64_t>(sample.ms));
  }
}

void session_latency_reset(Session& session, Words words, ReplyWriter& reply) {
  SharedTelemetry& shared = session.host().telemetry().shared();
  std::int64_t forgotten = 0;
  for (const Advice& advice : kAdvice) {
    const bool meant =
        words.size() == 2 || std::find(words.begin() + 2, words.end(), latency_event_name(advice.event)) != words.end();
    if (meant && shared.reset_latency(advice.event)) ++forgotten;
  }
  reply.integer(forgotten);
}

void session_latency_graph(Session& session, Words words, ReplyWriter& reply) {
  const auto samples = samples_of(session, words[2]);
  if (samples.empty()) {
    return reply.error(Error::format(ErrorCode::err, "No samples available for event '{}'", Echo(words[2]).text()));
  }
  const auto by_ms = [](const auto& a, const auto& b) { return a.ms < b.ms; };
  const auto [low, high] = std::minmax_element(samples.begin(), samples.end(), by_ms);
  const std::uint64_t all_time = session.host().telemetry().shared().latency(*find_event(words[2])).max_ms;
  std::string text = fmt::format("{} - high {} ms, low {} ms (all time high {} ms)\n{}\n", words[2], high->ms, low->ms,
                                 all_time, std::string(80, '-'));
  reply.verbatim(text + draw(samples, low->ms, high->ms));
}

void session_latency_doctor(Session& session, Words, ReplyWriter& reply) {
  const std::uint64_t threshold = session.host().options().latency_monitor_threshold;
  if (threshold == 0) {
    return reply.verbatim(
        "No events are kept: set latency-monitor-threshold to the milliseconds from which on you want to know.\n");
  }
  std::string text;
  for (const Advice& advice : kAdvice) {
    const LatencyMonitor::Series series = session.host().telemetry().shared().latency(advice.event);
    if (series.samples.empty()) continue;
    const std::uint64_t sum = std::accumulate(series.samples.begin(), series.samples.end(), std::uint64_t{0},
                                              [](std::uint64_t so_far, const auto& each) { return so_far + each.ms; });
    fmt::format_to(std::back_inserter(text),
                   "{}: {} seconds with one of {} ms or more, {} ms on average, {} ms at most: {}\n",
                   latency_event_name(advice.event), series.samples.size(), threshold, sum / series.samples.size(),
                   series.max_ms, advice.meaning);
  }
  reply.verbatim(text.empty() ? fmt::format("Nothing took {} ms or more.\n", threshold) : text);
}

void session_latency_histogram(Session& session, Words words, ReplyWriter& reply) {
  std::vector<std::pair<const CommandEntry*, CommandTotals>> found;
  for (const CommandEntry& command : command_table()) {
    if (!named(words.subspan(2), command)) continue;
    const CommandTotals totals = session.host().telemetry().shared().totals(command.id);
    if (totals.duration.count() > 0) found.emplace_back(&command, totals);
  }
  reply.map(found.size());
  for (const auto& [command, totals] : found) {
    reply.bulk(full_name(*command));
    write_histogram(totals, reply);
  }
}

}  // namespace holdfast
