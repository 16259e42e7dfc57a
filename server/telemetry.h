// What one thread notes about its work: the counters, and what it adds to SLOWLOG and LATENCY. No I/O and no clock of its
// own: the loop says when a turn began, when its reads, its batches and the turn itself ended. Time is measured
// for a whole batch and shared evenly among its commands, so that no command costs a look at the clock. The thread's,
// but for `stats`, which any thread may read.
//
//   began ---- reads: parsing, and commands of the connection ---- reads_end ---- batch ---- batch ---- writes ---- end
#pragma once

#include "server/message.h"
#include "server/shared_telemetry.h"
#include "storage/clock.h"

namespace holdfast {

struct Options;

class Telemetry {
 public:
  using Nanos = std::chrono::nanoseconds;
  /// Who sent a command, for the slow log.
  struct Client {
    std::string_view address;
    std::string_view name;
  };

  /// Both outlive this.
  Telemetry(const Options& options, SharedTelemetry& shared);

  ThreadStats stats;
  /// Of all threads.
  SharedTelemetry& shared() noexcept { return shared_; }

  // The turn, in this order.

  void begin_turn(Nanos boot) noexcept { began_ = boot; }
  Nanos began() const noexcept { return began_; }
  /// The connection executed a command itself.
  void note_session(const CommandEntry& command, Words words, bool failed, Client client);
  /// A RESERVE was refused from a view.
  void note_view_refusal(ReserveOutcome outcome);
  /// All is read; what follows is executed at this time.
  void end_reads(const ClockReading& reading);
  /// A batch was executed until `boot`. Whether it is slow: then the thread that knows who sent it adds slow_batch().
  bool note_batch(std::span<const StepCommand> commands, Nanos boot) noexcept;
  /// An entry for the last batch, without its client. No words: nothing in it counts.
  SlowLog::Entry slow_batch(std::span<const StepCommand> commands) const;
  void add_slow(SlowLog::Entry entry, Client client);
  /// Replies on their way to the sockets.
  void note_replies(std::span<const ArrivalTally> arrivals);
  /// All is written. `flush_ns`: the longest flush since the last turn.
  void end_turn(Nanos boot, std::uint64_t flush_ns);
  /// Whether this turn has done anything that end_turn would count.
  bool worked() const noexcept { return worked_ || !finished_.empty(); }

 private:
  SlowLog::Entry entry_of(const ClippedWords& words, Nanos took) const;
  void share(std::size_t count, Nanos took, std::span<const std::uint16_t> touched) noexcept;
  void tally(CommandId id) noexcept;
  void note_latency(LatencyEvent event, Nanos took);
  bool is_slow(Nanos took) const noexcept;

  const Options& options_;
  SharedTelemetry& shared_;

  Nanos began_{};
  Nanos batch_began_{};
  Nanos last_batch_{};
  Nanos longest_batch_{};
  std::int64_t unix_seconds_ = 0;
  bool worked_ = false;

  std::uint64_t requests_before_ = 0;  // of earlier turns
  std::size_t session_commands_ = 0;   // of this turn
  std::size_t view_refusals_ = 0;      // of this turn
  ClippedWords first_session_;
  std::string session_address_, session_name_;
  std::vector<ArrivalTally> finished_;
  std::array<std::uint16_t, kCommandCount> counts_{};  // of a batch, by command
  std::vector<std::uint16_t> touched_;                 // commands whose count is not 0
};

}  // namespace holdfast
