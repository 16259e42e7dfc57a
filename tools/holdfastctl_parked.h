// holdfastctl parked: what PostgreSQL did not take, and what a person does about it.
#pragma once

#include "tools/control_arguments.h"

namespace holdfast {

/// The words after "parked". Exit status: 0 done; 1 there is nothing, or it could not be done, with the reason; 2 database or
/// server could not be asked.
int parked_command(CommandWords words, ServerArguments arguments);

}  // namespace holdfast
