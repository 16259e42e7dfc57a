// Which words of a request are secrets: they are shown to nobody, neither by MONITOR nor in the slow log. No state; any
// thread.
#pragma once

#include "protocol/command_table.h"

namespace holdfast {

/// What stands in the place of a secret, as in Redis.
inline constexpr std::string_view kRedacted = "(redacted)";

/// Whether word `index` of a request is a secret: passwords and their users (AUTH, HELLO ... AUTH), the token of RESERVE,
/// also where it is given to a command that takes none, values of CONFIG SET whose names sound like one, and the same in
/// a command that COMMAND GETKEYS is asked about. REQUIRES: index < words.size().
bool is_secret(const CommandEntry& command, Words words, std::size_t index) noexcept;

}  // namespace holdfast
