#include "protocol/command_keys.h"

#include "protocol/names.h"

namespace holdfast {
namespace {

constexpr std::string_view kOneMore = "[key ...]";
constexpr std::string_view kPairMore = "[key value ...]";
constexpr std::string_view kCounted = " numkeys ";

/// The word of a syntax text at a position.
std::string_view word_at(std::string_view syntax, int position) noexcept {
  for (; position > 0; --position) syntax.remove_prefix(std::min(syntax.find(' ') + 1, syntax.size()));
  return syntax.substr(0, syntax.find(' '));
}

}  // namespace

KeySpec key_spec(const CommandEntry& entry) noexcept {
  KeySpec spec;
  if (entry.syntax.find(kCounted) != std::string_view::npos) {
    spec.count_at = 2;
    spec.many = true;
    return spec;
  }
  spec.first = entry.key;
  if (entry.key == 0) return spec;
  const bool pairs = entry.syntax.ends_with(kPairMore);
  spec.many = pairs || entry.syntax.ends_with(kOneMore);
  spec.step = pairs ? 2 : 1;
  spec.view = !word_at(entry.syntax, entry.key).starts_with("item");
  return spec;
}

Result<std::vector<std::string_view>> keys_of(const CommandEntry& entry, Words words) {
  const KeySpec spec = key_spec(entry);
  std::vector<std::string_view> keys;
  if (spec.count_at > 0) {
    const auto first = static_cast<std::size_t>(spec.count_at) + 1;
    std::uint64_t count = 0;
    if (!parse_canonical(words[first - 1], words.size() - first, count)) {
      return Error(ErrorCode::err, "Number of keys can't be greater than number of args");
    }
    keys.assign(words.begin() + static_cast<std::ptrdiff_t>(first),
                words.begin() + static_cast<std::ptrdiff_t>(first + count));
    return keys;
  }
  if (spec.first == 0) return keys;
  auto at = static_cast<std::size_t>(spec.first);
  do {
    keys.push_back(words[at]);
    at += static_cast<std::size_t>(spec.step);
  } while (spec.many && at < words.size());
  return keys;
}

}  // namespace holdfast
