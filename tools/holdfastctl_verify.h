// `holdfastctl verify`: the law, on a live server. One thread.
#pragma once

#include "tools/control_arguments.h"

namespace holdfast {

/// Counts items anew and adds up their counters; prints those that are not ok. The process's exit status: kDone all are
/// right, kNotOk some are not, kCouldNotTell the server could not be asked.
int verify_command(CommandWords words, ServerArguments arguments);

}  // namespace holdfast
