#include "server/glob.h"

#include <algorithm>
#include <cstddef>

namespace holdfast {
namespace {

char folded(char c, bool ignore_case) noexcept {
  return ignore_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Matches one character against the part of the pattern at `at` and moves behind that part.
bool match_one(std::string_view pattern, std::size_t& at, char c, bool ignore_case) noexcept {
  const auto fold = [&](char raw) { return static_cast<unsigned char>(folded(raw, ignore_case)); };
  if (pattern[at] == '?') return ++at, true;
  if (pattern[at] != '[') {
    if (pattern[at] == '\\' && at + 1 < pattern.size()) ++at;
    return fold(pattern[at++]) == fold(c);
  }
  ++at;
  const bool negated = at < pattern.size() && pattern[at] == '^';
  if (negated) ++at;
  bool found = false;
  for (; at < pattern.size() && pattern[at] != ']'; ++at) {
    if (pattern[at] == '\\' && at + 1 < pattern.size()) {
      found |= fold(pattern[++at]) == fold(c);
    } else if (at + 2 < pattern.size() && pattern[at + 1] == '-') {
      const unsigned char one_end = fold(pattern[at]);
      const unsigned char other_end = fold(pattern[at + 2]);
      found |= std::min(one_end, other_end) <= fold(c) && fold(c) <= std::max(one_end, other_end);
      at += 2;
    } else {
      found |= fold(pattern[at]) == fold(c);
    }
  }
  if (at < pattern.size()) ++at;
  return found != negated;
}

}  // namespace

// On a mismatch only the last star has to take one character more: those before it took as few as they could, which
// leaves the most to the rest.
bool glob_matches(std::string_view pattern, std::string_view text, bool ignore_case) noexcept {
  std::size_t at = 0;
  std::size_t matched = 0;
  std::size_t star = std::string_view::npos;
  std::size_t star_text = 0;
  while (matched < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = ++at;
      star_text = matched;
      continue;
    }
    if (at < pattern.size() && match_one(pattern, at, text[matched], ignore_case)) {
      ++matched;
      continue;
    }
    if (star == std::string_view::npos) return false;
    at = star;
    matched = ++star_text;
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

}  // namespace holdfast
