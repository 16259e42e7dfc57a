// holdfast-relay bootstrap and adopt: sinks that do not begin with the log's first record, or go on with another log. Blocking.
#pragma once

#include "tools/relay_arguments.h"

namespace holdfast {

/// Each sink begins with the newest snapshot of the server. Exit status: 0; 1 when that cannot be done now, 2 for wrong
/// arguments and for a sink that has something and may not set it aside. Sinks before the one that failed have begun.
int bootstrap_command(const RelayArguments& arguments);

/// Each sink goes on with the server's log, if that went on from the sink's own. Exit status: 0, or 1; 2 for wrong arguments.
int adopt_command(const RelayArguments& arguments);

}  // namespace holdfast
