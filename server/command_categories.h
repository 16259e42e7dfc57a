// Redis's categories of commands, as COMMAND INFO, COMMAND LIST and ACL CAT show them: names that tools ask for. Who may
// do what is decided by roles (roles.def), not by these. Constant data; any thread.
#pragma once

#include "protocol/command_table.h"

#include <vector>

namespace holdfast {

/// All categories that Redis 7.2 has, in its order; some are empty here.
std::span<const std::string_view> command_categories() noexcept;
/// Those of a command.
std::vector<std::string_view> categories_of(const CommandEntry& entry);
/// Whether a command is in a category, given in any case of letters and without "@".
bool is_in_category(const CommandEntry& entry, std::string_view category);

}  // namespace holdfast
