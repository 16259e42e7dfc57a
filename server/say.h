// Lines for the operator, on stderr. Any thread.
#pragma once

#include <string_view>

namespace holdfast {

/// One line, in a single write, so that lines of threads do not mix.
void say(std::string_view text);

}  // namespace holdfast
