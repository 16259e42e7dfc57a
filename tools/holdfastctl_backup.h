// `holdfastctl backup` and `holdfastctl restore`. One thread.
#pragma once

#include "tools/control_arguments.h"

namespace holdfast {

/// Makes a backup of a running server, or of a data directory. The process's exit status: kDone, or kCouldNotTell: there is no backup then.
int backup_command(CommandWords words, ServerArguments arguments);

/// Makes a data directory of a backup, as it is or as it was at some time. The process's exit status: kDone; kNotOk where
/// the backup does not hold what is asked for, or is damaged; kCouldNotTell.
int restore_command(CommandWords words, ServerArguments arguments);

}  // namespace holdfast
