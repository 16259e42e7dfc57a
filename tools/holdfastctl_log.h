// `holdfastctl log`: looks into the log of a data directory, without a server. One thread.
#pragma once

#include <span>
#include <string>

namespace holdfast {

/// Runs what follows the word `log` on the command line and prints to stdout; errors go to stderr. The process's exit
/// status: 0 done and usable, 1 unusable or failed, 2 wrong arguments.
int log_command(std::span<const std::string> arguments);

}  // namespace holdfast
