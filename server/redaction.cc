#include "server/redaction.h"

#include <algorithm>
#include <iterator>

namespace holdfast {
namespace {

constexpr std::size_t kItemOptions = 3;   // where they begin, behind item and user or behind subcommand and item
constexpr std::size_t kHelloOptions = 1;  // also when the version is left out, which is refused
constexpr std::size_t kConfigOptions = 2;
constexpr std::size_t kNestedCommand = 2;  // of COMMAND GETKEYS

bool follows(Words words, std::size_t index, std::string_view option, std::size_t distance,
             std::size_t first) noexcept {
  return index >= first + distance && equals_ignoring_case(words[index - distance], option);
}

char upper(char c) noexcept { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

/// Options whose values are secrets, by what their names say; also options of Redis that do not exist here.
bool names_secret(std::string_view option) noexcept {
  constexpr std::string_view kParts[] = {"PASS", "SECRET", "TOKEN", "AUTH"};
  return std::any_of(std::begin(kParts), std::end(kParts), [&](std::string_view part) {
    return std::search(option.begin(), option.end(), part.begin(), part.end(),
                       [](char a, char b) { return upper(a) == b; }) != option.end();
  });
}

}  // namespace

bool is_secret(const CommandEntry& command, Words words, std::size_t index) noexcept {
  switch (command.id) {
    case CommandId::auth:
      return index > 0;
    case CommandId::hello:
      return follows(words, index, "AUTH", 1, kHelloOptions) || follows(words, index, "AUTH", 2, kHelloOptions);
    case CommandId::reserve:
    case CommandId::confirm:
    case CommandId::release:
    case CommandId::refund:
    case CommandId::extend:
    case CommandId::reservation_get:
    case CommandId::reservation_list:
    case CommandId::reservation_wait:
      return follows(words, index, "TOKEN", 1, kItemOptions);
    case CommandId::command_getkeys:
    case CommandId::command_getkeysandflags: {
      if (index < kNestedCommand) return false;
      const Words nested = words.subspan(kNestedCommand);
      const auto found = find_command(nested);
      return found && is_secret(**found, nested, index - kNestedCommand);
    }
    case CommandId::config_set:
      return index >= kConfigOptions + 1 && index % 2 == 1 && names_secret(words[index - 1]);
    default:
      return false;
  }
}

}  // namespace holdfast
