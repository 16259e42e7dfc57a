#include "server/printable.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <iterator>

namespace holdfast {
namespace {

/// The length of the printable character that begins here; 0 when there is none. Overlong forms, surrogates, and control
/// characters (C0, C1, DEL) are none.
std::size_t character_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f && first != '%' ? 1 : 0;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  std::uint32_t code = first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3fU);
  }
  constexpr std::array<std::uint32_t, 5> kLowest = {0, 0, 0xa0, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code < kLowest[length] || surrogate || code > 0x10ffff ? 0 : length;
}

}  // namespace

std::string printable_name(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t length = character_length(bytes);
    if (length == 0) {
      fmt::format_to(std::back_inserter(text), "%{:02X}", static_cast<std::uint8_t>(bytes[0]));
      bytes.remove_prefix(1);
      continue;
    }
    text.append(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  return text;
}

}  // namespace holdfast
