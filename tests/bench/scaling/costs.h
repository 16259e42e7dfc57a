// What things cost a thread of the server, of its load or of the log, and how long what is no processor time takes. Read from
// a file that measure.py wrote: lines of a name and microseconds; `#` begins a comment. Values; any thread.
#pragma once

#include "protocol/error.h"

#include <chrono>
#include <string>
#include <string_view>

namespace holdfast::scaling {

using Nanos = std::chrono::duration<double, std::nano>;

struct Costs {
  // A thread of a shard.
  Nanos turn{};     // a look at what is ready
  Nanos sleep{};    // falling asleep and being awake again
  Nanos socket{};   // of a connection in a turn: reading and writing it
  Nanos refuse{};   // a command that is refused from a view
  Nanos own{};      // a command that takes a unit of an item of the thread's own
  Nanos forward{};  // the same of another thread's item: parsed, sent, its reply delivered
  Nanos run{};      // a command that another thread sent
  Nanos block{};    // of commands between two threads, for each of them
  Nanos group{};    // of records: handed to the log, taken back
  Nanos wake{};     // another thread of a shard that sleeps

  // The log's thread.
  Nanos commit{};        // of a batch
  Nanos record{};        // of a record in it
  Nanos flush{};         // while it waits for the disk
  Nanos flush_record{};  // for each record in it

  // A thread of the load.
  Nanos load_sleep{};
  Nanos load_socket{};   // a connection's replies read, its next requests written
  Nanos load_request{};  // each of them

  // The machine.
  Nanos wake_latency{};  // until a thread that was woken is on an idle processor
};

/// Errors: a name that is unknown, missing or there twice, a value that is no number or below 0; the text says the line.
Result<Costs> parse_costs(std::string_view text);
/// The same of a file, or that it cannot be read.
Result<Costs> read_costs(const char* path);
/// The text of a file.
Result<std::string> read_text(const char* path);

}  // namespace holdfast::scaling
