// `holdfastctl snapshot`: asks a live server for a snapshot and waits for it. One thread.
#pragma once

#include "tools/control_arguments.h"

namespace holdfast {

/// Prints what was made. The process's exit status: kDone a snapshot of all that was durable is there, kNotOk it could not
/// be made, kCouldNotTell the server could not be asked.
int snapshot_command(CommandWords words, ServerArguments arguments);

}  // namespace holdfast
