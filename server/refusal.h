// A refusal of RESERVE as plain values, and its reply: the same bytes whether the item's owner answers or another thread
// from the item's view. No state; any thread.
#pragma once

#include "protocol/reply_writer.h"
#include "protocol/types.h"
#include "server/outcomes.h"

namespace holdfast {

/// Why an item takes nothing now, and what DETAILS tell of it.
struct Refusal {
  ReserveOutcome outcome{};  // one with a reply_number
  Sequence sequence;
  std::int64_t reserved = 0;
  WallTime opens_at;  // not set: it opens by hand only
};

/// Writes the integer, or the map of DETAILS. `wall` tells how long it is until the item opens.
void write_refusal(ReplyWriter& reply, const Refusal& refusal, bool details, WallTime wall);

}  // namespace holdfast
