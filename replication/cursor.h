// How far a sink is: in which log, through which LSN, and under which epoch. Values; any thread.
#pragma once

#include "protocol/error.h"
#include "storage/log_identity.h"

#include <string>

namespace holdfast {

/// Number of a relay's take-over of a sink, from 1: who has the highest may write.
using Epoch = Strong<struct EpochTag, std::uint64_t>;

struct Cursor {
  LogId log{};  // zeros: the sink has seen no log yet
  Lsn lsn;      // everything through here is in the sink
  Epoch epoch;
  bool operator==(const Cursor&) const noexcept = default;
};

/// Whether the log id is that of a log.
bool is_log(const LogId& id) noexcept;
/// Nothing else than what log_id_text makes, or a UUID's form of it.
Result<LogId> parse_log_id(std::string_view text);

/// What a server has of its log.
struct LogRange {
  LogId log{};
  Lsn oldest;           // of what it still has
  Lsn durable;          // of what it gives out
  LogId forked_from{};  // the log that it goes on from; zeros: none
  Lsn forked_at{};      // through here both are the same
};

/// Whether a sink with this cursor can go on with that log; else an error that says what to do: `foreign` for another
/// log, `damaged` for a cursor ahead of the log or behind what it still has.
Result<void> check_cursor(const Cursor& cursor, const LogRange& range);
/// Whether a sink with this cursor, which is of another log, can go on with that one, since it has nothing that the two do
/// not share; else an error, `foreign`, that says what to do.
Result<void> check_adoption(const Cursor& cursor, const LogRange& range);

}  // namespace holdfast
