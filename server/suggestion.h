// What somebody may have meant who wrote a word that is not known. No state; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace holdfast {

/// The known word that is nearest to this one, if it is near enough to be meant: at most a third of its letters differ.
/// Empty when none is.
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> known);
/// "; did you mean 'port'?", or "; known are a, b, c" when none is near and there are few, or nothing.
std::string suggestion(std::string_view word, std::span<const std::string_view> known);

}  // namespace holdfast
