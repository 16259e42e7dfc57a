// Which runs a random test makes: a few that are always the same, others by HOLDFAST_SEED, HOLDFAST_ROUNDS and the like.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace holdfast::test {

/// The number in an environment variable, or what is used otherwise.
inline std::uint64_t number_from_environment(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Rounds in this build: a tenth in debug and sanitizer builds, where each takes many times longer.
constexpr std::uint64_t rounds_here(std::uint64_t rounds) noexcept {
#ifdef NDEBUG
  return rounds;
#else
  return rounds / 10;
#endif
}

}  // namespace holdfast::test
