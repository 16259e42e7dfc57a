// One command against the inventory: words in, reply bytes and records out. No I/O, no clock, no randomness: the
// same state, words and Now give the same bytes. Runs on the thread that owns the item.
#pragma once

#include "protocol/command_table.h"
#include "protocol/reply_writer.h"
#include "server/inventory.h"

namespace holdfast {

/// What the gate and the session must know about a reply.
struct StepResult {
  /// The reply may leave once this group is durable; none: at once.
  GroupOrdinal rests_on;
  /// RESERVATION WAIT only: the stage is not reached and nothing was written. Ask again when more has become durable,
  /// or, with `wait_is_over`, when `wait_timeout` has passed.
  bool waits = false;
  Millis wait_timeout{};
  /// The number of the ReserveOutcome or VerbOutcome, of commands that have one and did not answer with an error.
  std::uint8_t outcome = 0;
  /// The item that was looked up: its place and number, which tells whether the place was used again since.
  std::uint32_t item_index = 0;
  ItemNumber item;
};

/// Executes a command whose home is the step. `words` is the whole request, of an arity that fits the entry.
/// Exactly one reply is written, unless the result says that it waits. `wait_is_over`: RESERVATION WAIT answers the
/// reservation as it stands.
StepResult step(Inventory& inventory, const CommandEntry& command, Words words, const Now& now, ReplyWriter& reply,
                bool wait_is_over = false);

}  // namespace holdfast
