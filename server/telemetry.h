// What one thread notes about its work: the counters, and what SLOWLOG, LATENCY and INFO make of them. No I/O and no clock
// of its own: the loop says when a turn began, when its reads, its batches and the turn itself ended. Time is measured
// for a whole batch and shared evenly among its commands, so that no command costs a look at the clock. The thread's,
// but for `stats`, which any thread may read.
//
//   began ---- reads: parsing, and commands of the connection ---- reads_end ---- batch ---- batch ---- writes ---- end
#pragma once

#include "server/latency_monitor.h"
#include "server/message.h"
#include "server/slow_log.h"
#include "server/thread_stats.h"
#include "storage/clock.h"

#include <memory>

namespace holdfast {

struct Options;

/// What INFO tells of a command.
struct CommandTotals {
  std::uint64_t calls = 0;
  std::uint64_t rejected = 0;
  std::uint64_t failed = 0;
  std::uint64_t duration_ns = 0;
  HistogramView duration;
};

/// What INFO tells of the whole.
struct WorkTotals {
  std::uint64_t requests = 0;
  std::uint64_t error_replies = 0;
  std::uint64_t connections_received = 0;
  std::uint64_t connections_rejected = 0;
  std::uint64_t input_bytes = 0;
  std::uint64_t output_bytes = 0;
  std::uint64_t expired = 0;
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t clients_evicted = 0;
  std::uint64_t clients_timed_out = 0;
  std::uint64_t slow_subscribers = 0;
  std::uint64_t wrong_secrets = 0;
  std::uint64_t denied_commands = 0;
};

class Telemetry {
 public:
  using Nanos = std::chrono::nanoseconds;
  /// Who sent a command, for the slow log.
  struct Client {
    std::string_view address;
    std::string_view name;
  };

  explicit Telemetry(const Options& options);
  ~Telemetry();

  ThreadStats stats;
  SlowLog slow_log;
  LatencyMonitor latency;

  // Since the last reset (CONFIG RESETSTAT). Metrics never go back: they are `stats` itself.

  CommandTotals totals(CommandId id) const;
  WorkTotals totals() const;
  /// Error replies by their first word, of those that there were.
  std::vector<std::pair<std::string_view, std::uint64_t>> error_totals() const;
  void reset();

  // The turn, in this order.

  void begin_turn(Nanos boot) noexcept { began_ = boot; }
  Nanos began() const noexcept { return began_; }
  /// The connection executed a command itself.
  void note_session(const CommandEntry& command, Words words, bool failed, Client client);
  /// All is read; what follows is executed at this time.
  void end_reads(const ClockReading& reading);
  /// A batch was executed until `boot`. Whether it is slow: then the caller adds it, knowing who sent it.
  bool note_batch(std::span<const StepCommand> commands, Nanos boot) noexcept;
  void add_slow_batch(std::span<const StepCommand> commands, Client client);
  /// Replies on their way to the sockets.
  void note_replies(std::span<const ArrivalTally> arrivals);
  /// All is written. `flush_ns`: the longest flush since the last turn.
  void end_turn(Nanos boot, std::uint64_t flush_ns);
  /// Whether this turn has done anything that end_turn would count.
  bool worked() const noexcept { return worked_; }

 private:
  struct Baseline;

  void add_slow(const ClippedWords& words, Nanos took, Client client);
  void share(std::size_t count, Nanos took, std::span<const std::uint16_t> touched) noexcept;
  void tally(CommandId id) noexcept;
  void note_latency(LatencyEvent event, Nanos took);
  bool is_slow(Nanos took) const noexcept;

  const Options& options_;
  std::unique_ptr<Baseline> baseline_;

  Nanos began_{};
  Nanos batch_began_{};
  Nanos last_batch_{};
  Nanos longest_batch_{};
  std::int64_t unix_seconds_ = 0;
  bool worked_ = false;

  std::uint64_t requests_before_ = 0;  // of earlier turns
  std::size_t session_commands_ = 0;   // of this turn
  ClippedWords first_session_;
  std::string session_address_, session_name_;
  std::vector<ArrivalTally> finished_;
  std::array<std::uint16_t, kCommandCount> counts_{};  // of a batch, by command
  std::vector<std::uint16_t> touched_;                 // commands whose count is not 0
};

}  // namespace holdfast
