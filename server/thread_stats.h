// What one thread counts about its work: written by that thread alone, read by any at any time. Where several threads
// serve, a reader adds up. Nothing here is per item or per connection. Durations are nanoseconds.
#pragma once

#include "protocol/command_table.h"
#include "server/outcomes.h"
#include "storage/counters.h"
#include "storage/record.h"

#include <array>
#include <initializer_list>
#include <optional>

namespace holdfast {

/// Commands by what somebody waits for; each has a histogram of latencies.
enum class LatencyClass : std::uint8_t {
  reserve,  // RESERVE
  write,    // what else changes items
  read,     // what reads items
  session,  // what the connection answers itself
  waiting,  // RESERVATION WAIT, which takes as long as it was asked to: no histogram
};
inline constexpr std::size_t kLatencyClasses = 4;
LatencyClass latency_class(const CommandEntry& command) noexcept;
/// "reserve" and so on.
std::string_view latency_class_name(LatencyClass latency) noexcept;

/// Why a connection was closed.
enum class CloseReason : std::uint8_t {
  peer,        // it closed, or its machine did
  quit,        // QUIT
  protocol,    // it sent what is no request
  broken,      // the connection was reset, or its socket failed
  deadline,    // it was silent, slow to send a command or to take its replies
  evicted,     // it held most when all together held too much
  secrets,     // too many wrong ones
  subscriber,  // it left its messages, or what MONITOR shows, unread
  killed,      // CLIENT KILL
  shutdown,    // the server stops
};
inline constexpr std::size_t kCloseReasons = 10;
std::string_view close_reason_name(CloseReason reason) noexcept;

/// The commands that answer with a VerbOutcome: CONFIRM, RELEASE, REFUND, EXTEND, in this order.
inline constexpr std::size_t kVerbs = 4;
std::optional<std::size_t> verb_index(CommandId id) noexcept;

inline constexpr std::size_t kErrorCodes =
    std::initializer_list<ErrorCode>{
#define HOLDFAST_ERROR(code, ...) ErrorCode::code,
#include "protocol/errors.def"
#undef HOLDFAST_ERROR
    }
        .size();
inline constexpr std::size_t kReservationEvents = 7;

struct CommandCounts {
  Counter calls;     // executed
  Counter rejected;  // known, and not executed: wrong number of words, -LOADING
  Counter failed;    // executed and answered with an error
  /// Time of execution: what a batch of commands took, shared evenly among them.
  Counter duration_ns;
  PowerHistogram duration;
};

struct ThreadStats {
  // Requests.
  Counter requests;  // whole ones, also unknown commands
  std::array<CommandCounts, kCommandCount> commands;
  std::array<Counter, kReserveOutcomes> reserve;
  std::array<std::array<Counter, kVerbOutcomes>, kVerbs> verbs;
  Counter view_refusals;                        // of RESERVE, without asking the owner; also in `reserve`
  std::array<Counter, kErrorCodes + 1> errors;  // by the first code with the reply's word; the last: another word
  /// From the poll that brought a command to the write of its reply.
  std::array<PowerHistogram, kLatencyClasses> latency;
  /// Changes of reservations by ReservationEvent, less 1.
  std::array<Counter, kReservationEvents> changes;

  // Connections.
  Counter connections_received;
  Counter connections_rejected;
  std::array<Counter, kCloseReasons> connections_closed;
  Counter wrong_secrets;
  Counter commands_denied;  // the user may not
  Counter input_bytes;
  Counter output_bytes;
  Counter reads;  // of sockets
  Counter writes;
  Counter client_waits;         // WAIT and others that wait now
  Counter connections;          // open now
  Counter input_buffer_bytes;   // held for them now
  Counter output_buffer_bytes;  // replies that wait now
  Counter connection_bytes;     // all that they hold

  // Options that the scrape needs, as the thread last saw them: what may change while the server runs, it alone reads.
  Counter connections_limit;
  Counter slow_flush_max_ms;

  // The loop.
  PowerHistogram turn;  // only turns that found something to do

  // The shard, as of the last turn.
  Counter items;
  Counter items_fenced;
  Counter gate_waiting;
  Counter waits;
  Counter lookups_found;  // items that commands asked for by name
  Counter lookups_missed;
  Counter groups_at_log;
  Counter commands_outstanding;  // of this thread's connections, at all owners
  Counter commands_credit;       // that owners would still take
  Counter sweep_lag_ms;
  Counter hold_ms;
  Counter wall_ms;

  /// Counts an error reply by its first word. `reply`: its bytes, the dash first.
  void count_error(std::string_view reply) noexcept;
  std::uint64_t error_replies() const noexcept;
};

/// The word that errors[index] stands for, "OTHER" for the last; nothing where an earlier index has the same word.
std::string_view error_word(std::size_t index) noexcept;

}  // namespace holdfast
