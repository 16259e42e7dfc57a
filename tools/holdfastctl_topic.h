// holdfastctl topic create: the topics that the kafka sink needs.
#pragma once

#include "tools/control_arguments.h"

namespace holdfast {

/// The words after "topic". Exit status: 0 all topics are there, as they should be; 1 one differs, or the brokers refuse to make it;
/// 2 they could not be asked.
int topic_command(CommandWords words, ServerArguments arguments);

}  // namespace holdfast
