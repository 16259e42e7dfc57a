// `holdfastctl explain`: one reservation's life, from the log. One thread.
#pragma once

#include "tools/control_arguments.h"

namespace holdfast {

/// Prints what happened to an id of an item. The process's exit status: kDone, kNotOk where the log does not know it,
/// kCouldNotTell where there is no log to read.
int explain_command(CommandWords words, ServerArguments arguments);

}  // namespace holdfast
