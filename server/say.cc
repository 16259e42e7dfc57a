#include "server/say.h"

#include <fmt/format.h>
#include <unistd.h>

namespace holdfast {

void say(std::string_view text) {
  const std::string line = fmt::format("holdfastd: {}\n", text);
  [[maybe_unused]] const auto size = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace holdfast
