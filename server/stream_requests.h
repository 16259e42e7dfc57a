// The requests to the log as a stream, parsed: LOG READ, LOG SNAPSHOT, XREAD, XRANGE, XINFO. Errors of the X commands are Redis's words.
// Any thread.
#pragma once

#include "protocol/command_table.h"
#include "protocol/types.h"

#include <optional>
#include <string>
#include <vector>

namespace holdfast {

/// The one stream there is.
inline constexpr std::string_view kLogKey = "log";

/// Position of an entry; those of the log are <LSN>-0.
struct StreamId {
  std::uint64_t lsn = 0;
  std::uint64_t part = 0;
  /// "7-0", or "7" with this part. Nothing for another text.
  static std::optional<StreamId> parse(std::string_view text, std::uint64_t missing_part) noexcept;
  bool operator==(const StreamId&) const noexcept = default;
};

struct LogReadRequest {
  Lsn from;
  std::size_t bytes_max = 0;
  std::optional<Millis> block;
};
/// LOG READ lsn MAXBYTES n [BLOCK ms]
Result<LogReadRequest> parse_log_read(Words words);

struct LogSnapshotRequest {
  std::optional<Lsn> lsn;  // nothing: the newest
  std::uint64_t offset = 0;
  std::size_t bytes_max = 0;
};
/// LOG SNAPSHOT lsn offset MAXBYTES n
Result<LogSnapshotRequest> parse_log_snapshot(Words words);

struct XreadRequest {
  struct Key {
    std::string_view name;
    std::optional<StreamId> after;  // nothing: $
  };
  std::vector<Key> keys;
  std::uint64_t count = UINT64_MAX;
  std::optional<Millis> block;  // kWaitMax for 0
};
Result<XreadRequest> parse_xread(Words words);

struct XrangeRequest {
  Lsn from;
  Lsn through;
  std::optional<std::uint64_t> count;  // 0: Redis answers null
};
Result<XrangeRequest> parse_xrange(Words words);

struct XinfoRequest {
  bool full = false;
  std::uint64_t count = 10;  // of the full form
};
Result<XinfoRequest> parse_xinfo_stream(Words words);

}  // namespace holdfast
