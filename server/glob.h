// Patterns as Redis has them (* ? [a-z] [^a] \x), matched in linear time. No state; any thread.
#pragma once

#include <string_view>

namespace holdfast {

/// Whether the whole text matches. Time is at most the product of the two lengths: no pattern makes it worse.
bool glob_matches(std::string_view pattern, std::string_view text, bool ignore_case = false) noexcept;

}  // namespace holdfast
