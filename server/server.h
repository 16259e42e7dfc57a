// A whole server: listens, replays its log, serves until it is told to stop. The shell that owns the threads and the
// machine's files and clocks; one a process.
#pragma once

#include "server/options.h"

namespace holdfast {

/// Runs until SIGTERM or SIGINT; the process's exit status. Errors and the command line's warnings go to stderr, one line
/// each.
/// Statuses: 0 stopped in order; 1 could not start, the line says why; 74 the log's live segment failed.
int run_server(const CommandLine& line);

}  // namespace holdfast
