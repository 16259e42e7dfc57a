#include "storage/log_identity.h"

#include <fmt/format.h>

namespace holdfast {

std::string log_id_text(const LogId& id) {
  std::string text;
  for (const std::uint8_t byte : id) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace holdfast
