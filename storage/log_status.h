// What other threads may see of the log: atomics written by the log thread only. Relaxed loads are enough for metrics and
// INFO; durable_lsn is published with release after the bytes it speaks of are durable.
#pragma once

#include "protocol/types.h"
#include "storage/counters.h"

#include <array>
#include <atomic>
#include <string_view>

namespace holdfast {

/// What is wrong, if anything. Each is a bit of LogStatus::alarms, a metric and a field of INFO.
enum class LogAlarm : std::uint8_t {
  next_segment,      // the next segment could not be prepared or opened; retried
  mark,              // the mark could not be written; retried
  space_unknown,     // free space could not be asked for; retried
  space_low,         // less than two segments and 1.2 x the last snapshot are free
  slow_flush,        // the last flush took a second or more
  identity_unknown,  // whether the live file is still the one on disk could not be asked; retried
  sinks,             // the file of the sinks could not be written; retried
  retention,         // a sink keeps much of the log from going
  downtime,          // the time between stop and start was not believed: returns are held
};
inline constexpr std::size_t kLogAlarms = 9;
/// "next_segment" and so on.
std::string_view alarm_name(LogAlarm alarm) noexcept;

/// Whether new reservations are taken; the reason is the text after -OVERLOADED.
enum class SpaceState : std::uint8_t { ok = 0, no_next_segment = 1, low = 2, slow = 3 };
/// A sentence for the reply; empty for ok.
std::string_view space_text(SpaceState state) noexcept;

struct LogStatus {
  std::atomic<std::uint64_t> written_lsn{0};
  /// Everything up to here survives a power failure. Only this far is the log served to others.
  std::atomic<std::uint64_t> durable_lsn{0};
  std::atomic<SpaceState> space{SpaceState::ok};
  std::atomic<std::uint32_t> alarms{0};                              // bit per LogAlarm
  std::array<std::atomic<std::uint64_t>, kLogAlarms> alarm_count{};  // how often each was raised or failed again
  std::atomic<std::uint64_t> segment{0};
  std::atomic<std::uint64_t> segment_used_bytes{0};
  std::atomic<std::uint64_t> free_bytes{0};
  std::atomic<std::uint64_t> batches{0};
  std::atomic<std::uint64_t> batch_bytes{0};  // sum over batches, padding included
  std::atomic<std::uint64_t> flush_last_ns{0};
  std::atomic<std::uint64_t> flush_max_ns{0};
  std::atomic<std::uint64_t> slow_flushes{0};
  /// The longest since somebody last took it, with exchange(0).
  std::atomic<std::uint64_t> flush_recent_ns{0};
  PowerHistogram flush_ns;
  PowerHistogram batch_records;
  PowerHistogram batch_sizes;  // bytes, padding included
  /// Whether the segment after the live one stands ready.
  std::atomic<bool> next_segment_ready{false};
  /// CLOCK_BOOTTIME when the write in flight began, 0 when none is: lets a watchdog see a flush that does not return.
  std::atomic<std::int64_t> flush_began_ns{0};

  /// `space`, and `slow` when the write in flight has taken longer than the bound so far. `boot`: CLOCK_BOOTTIME now.
  SpaceState space_at(std::chrono::nanoseconds boot, Millis flush_max) const noexcept {
    const SpaceState state = space.load(std::memory_order_relaxed);
    const std::int64_t began = flush_began_ns.load(std::memory_order_relaxed);
    const bool slow = began != 0 && boot - std::chrono::nanoseconds(began) > flush_max;
    return state == SpaceState::ok && slow ? SpaceState::slow : state;
  }
  bool has(LogAlarm alarm) const noexcept {
    return (alarms.load(std::memory_order_relaxed) >> static_cast<unsigned>(alarm) & 1U) != 0;
  }
};

}  // namespace holdfast
