#include "server/suggestion.h"

#include "server/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace holdfast {
namespace {

constexpr std::size_t kListedMax = 10;

/// Letters to insert, remove or replace (Levenshtein), two neighbours that changed places counting as one replacement
/// each.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view nearest_word(std::string_view word, std::span<const std::string_view> known) {
  std::string_view nearest;
  if (word.size() > kSuggestedBytesMax) return nearest;
  std::size_t least = SIZE_MAX;
  for (const std::string_view candidate : known) {
    const std::size_t found = distance(word, candidate);
    if (found >= least || found * 3 > std::max<std::size_t>(candidate.size(), 6)) continue;
    least = found;
    nearest = candidate;
  }
  return nearest;
}

std::string suggestion(std::string_view word, std::span<const std::string_view> known) {
  if (const auto nearest = nearest_word(word, known); !nearest.empty()) {
    return fmt::format("; did you mean '{}'?", nearest);
  }
  if (known.size() > kListedMax) return {};
  return fmt::format("; known are {}", fmt::join(known, ", "));
}

}  // namespace holdfast
