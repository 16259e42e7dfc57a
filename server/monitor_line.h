// The line that MONITOR shows of a command, with its secrets left out. No I/O; any thread.
#pragma once

#include "protocol/command_table.h"
#include "protocol/types.h"

#include <chrono>
#include <string>
#include <string_view>

namespace holdfast {

/// Bytes as Redis prints them: in double quotes, with \n \r \t \a \b \\ \" and \xNN.
void append_quoted(std::string& text, std::string_view bytes);

/// "+<seconds>.<micros> [0 <address>] "WORD" ..." with CR LF.
std::string monitor_line(std::chrono::microseconds wall, std::string_view address, const CommandEntry& entry,
                         Words words);

}  // namespace holdfast
