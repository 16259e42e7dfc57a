// What names a log, repeated in each of its segments. Values; any thread.
#pragma once

#include "protocol/types.h"

#include <array>
#include <string>

namespace holdfast {

using LogId = std::array<std::uint8_t, 16>;
/// No log's.
inline constexpr LogId kNoLogId{};
using LogSecret = std::array<std::uint8_t, 16>;
/// None: of a backup, whose secret is not told.
inline constexpr LogSecret kNoSecret{};

/// 32 hexadecimal digits, as INFO, dumps and sinks show it.
std::string log_id_text(const LogId& id);

/// What every segment of a log repeats.
struct LogIdentity {
  LogId id{};
  LogSecret secret{};      // never served or dumped
  LogId forked_from_id{};  // zeros: no fork
  Lsn forked_from_lsn;
};

}  // namespace holdfast
