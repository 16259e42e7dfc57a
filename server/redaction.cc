#include "server/redaction.h"

namespace holdfast {
namespace {

constexpr std::size_t kReserveOptions = 3;  // where they begin
constexpr std::size_t kHelloOptions = 2;

bool follows(Words words, std::size_t index, std::string_view option, std::size_t distance,
             std::size_t first) noexcept {
  return index >= first + distance && equals_ignoring_case(words[index - distance], option);
}

}  // namespace

bool is_secret(const CommandEntry& command, Words words, std::size_t index) noexcept {
  switch (command.id) {
    case CommandId::auth:
      return index > 0;
    case CommandId::hello:
      return follows(words, index, "AUTH", 1, kHelloOptions) || follows(words, index, "AUTH", 2, kHelloOptions);
    case CommandId::reserve:
      return follows(words, index, "TOKEN", 1, kReserveOptions);
    default:
      return false;
  }
}

}  // namespace holdfast
