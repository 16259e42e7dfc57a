#include "protocol/outside_text.h"

#include <cstdint>

namespace holdfast {
namespace {

constexpr std::uint32_t kLastC0 = 0x1f;
constexpr std::uint32_t kDelete = 0x7f;
constexpr std::uint32_t kLastC1 = 0x9f;

/// The length of the printable character at the front, 0 when there is none.
std::size_t printable_size(std::string_view bytes) noexcept {
  const auto first = static_cast<unsigned char>(bytes.front());
  if (first < 0x80) return first > kLastC0 && first != kDelete && first != '%' ? 1 : 0;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || bytes.size() < size) return 0;
  std::uint32_t code = first & (0xffU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    const auto next = static_cast<unsigned char>(bytes[i]);
    if ((next & 0xc0) != 0x80) return 0;
    code = code << 6 | (next & 0x3fU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < kLeast[size] || code > 0x10ffff || surrogate || code <= kLastC1 ? 0 : size;
}

constexpr std::string_view kDigits = "0123456789ABCDEF";

}  // namespace

std::string outside_text(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t size = printable_size(bytes);
    if (size > 0) {
      text.append(bytes.substr(0, size));
    } else {
      const auto byte = static_cast<unsigned char>(bytes.front());
      text.append({'%', kDigits[byte >> 4], kDigits[byte & 0xf]});
    }
    bytes.remove_prefix(size > 0 ? size : 1);
  }
  return text;
}

std::optional<std::string> inside_bytes(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    std::size_t size = 1;
    char byte = text.front();
    if (byte == '%') {
      const auto high = text.size() < 3 ? std::string_view::npos : kDigits.find(text[1]);
      const auto low = text.size() < 3 ? std::string_view::npos : kDigits.find(text[2]);
      if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
      byte = static_cast<char>(high << 4 | low);
      size = 3;
    }
    bytes += byte;
    text.remove_prefix(size);
  }
  return bytes;
}

}  // namespace holdfast
