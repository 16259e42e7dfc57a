// Splits a line into words as redis-cli users type them: blanks between, 'single' and "double" quotes, \n \r \t \b \a
// \xHH and \" inside double ones. The rules are those of Redis's sdssplitargs. No state; any thread.
#pragma once

#include "protocol/resp_parser.h"

namespace holdfast {

enum class LineWords : std::uint8_t { ok, unbalanced, too_many };

/// Fills `request` from a line without its end. REQUIRES: at most kLineBytesMax bytes, none of them NUL.
LineWords split_line(std::string_view line, std::size_t words_max, RequestBuffer& request);

}  // namespace holdfast
