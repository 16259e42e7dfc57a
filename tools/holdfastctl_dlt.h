// holdfastctl dlt: what consumers of the relay's topics refused, and what a person does about it.
#pragma once

#include "tools/control_arguments.h"

namespace holdfast {

/// The words after "dlt". Exit status: 0 done; 1 there is no such dead letter, or it is done with already, or it cannot be done,
/// with the reason; 2 brokers or server could not be asked.
int dlt_command(CommandWords words, ServerArguments arguments);

}  // namespace holdfast
