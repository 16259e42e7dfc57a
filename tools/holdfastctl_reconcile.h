// holdfastctl reconcile: a server and PostgreSQL's tables compared, and the tables mended.
#pragma once

#include "tools/control_arguments.h"

namespace holdfast {

/// The words after "reconcile". Exit status: 0 nothing differs, or everything was mended; 1 something differs; 2 it could not be
/// told.
int reconcile_command(CommandWords words, ServerArguments arguments);

}  // namespace holdfast
