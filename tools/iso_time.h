// Times of the wall clock as people write them: ISO 8601 in UTC. Pure; any thread.
#pragma once

#include "protocol/error.h"
#include "protocol/types.h"

#include <string>

namespace holdfast {

/// "2026-11-30T08:15:00.250Z"; beyond the year 9999, the milliseconds.
std::string iso_time(WallTime time);

/// Reads YYYY-MM-DD, with THH:MM[:SS[.fraction]] behind it (a space does for the T), in UTC or with Z or +HH:MM; or Unix
/// milliseconds. Errors: bad_option, showing how it is written.
Result<WallTime> parse_time(std::string_view text);

}  // namespace holdfast
