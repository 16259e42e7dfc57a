// Names as they are shown outside. No state; any thread.
#pragma once

#include <string>
#include <string_view>

namespace holdfast {

/// The bytes with those that are not printable UTF-8, and "%" among them, percent-escaped; reversible.
std::string printable_name(std::string_view bytes);

}  // namespace holdfast
