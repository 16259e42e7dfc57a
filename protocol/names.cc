#include "protocol/names.h"

#include "protocol/check.h"

#include <fmt/format.h>

#include <charconv>

namespace holdfast {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";
constexpr std::array<std::size_t, 4> kDashes = {8, 13, 18, 23};

constexpr std::array<std::uint16_t, 256> make_crc16_table() {
  std::array<std::uint16_t, 256> table{};
  for (unsigned byte = 0; byte < table.size(); ++byte) {
    unsigned crc = byte << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000U) != 0 ? (crc << 1) ^ 0x1021U : crc << 1;
    table[byte] = static_cast<std::uint16_t>(crc);
  }
  return table;
}

constexpr auto kCrc16 = make_crc16_table();

std::uint16_t crc16_xmodem(std::string_view bytes) noexcept {
  unsigned crc = 0;
  for (const char c : bytes) crc = (crc << 8 & 0xffffU) ^ kCrc16[(crc >> 8 ^ static_cast<unsigned char>(c)) & 0xffU];
  return static_cast<std::uint16_t>(crc);
}

constexpr std::uint8_t kNoDigit = 0xff;

constexpr std::array<std::uint8_t, 256> make_hex_values() {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (unsigned digit = 0; digit < 16; ++digit) {
    const auto lower = static_cast<unsigned char>(kHexDigits[digit]);
    values[lower] = static_cast<std::uint8_t>(digit);
    if (digit >= 10) values[lower - 'a' + 'A'] = static_cast<std::uint8_t>(digit);
  }
  return values;
}

constexpr auto kHexValues = make_hex_values();

constexpr bool is_dash_position(std::size_t at) noexcept {
  return at == kDashes[0] || at == kDashes[1] || at == kDashes[2] || at == kDashes[3];
}

/// Where in the text each byte's two digits begin.
constexpr std::array<std::uint8_t, 16> make_digit_positions() {
  std::array<std::uint8_t, 16> positions{};
  std::size_t at = 0;
  for (auto& position : positions) {
    if (is_dash_position(at)) ++at;
    position = static_cast<std::uint8_t>(at);
    at += 2;
  }
  return positions;
}

constexpr auto kDigitPositions = make_digit_positions();

bool parse_uuid(std::string_view text, std::array<std::uint8_t, 16>& bytes) noexcept {
  if (text.size() != ReservationId::kTextBytes) return false;
  for (const std::size_t dash : kDashes) {
    if (text[dash] != '-') return false;
  }
  unsigned seen = 0;  // a byte that is no digit sets the upper bits
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::uint8_t high = kHexValues[static_cast<unsigned char>(text[kDigitPositions[i]])];
    const std::uint8_t low = kHexValues[static_cast<unsigned char>(text[kDigitPositions[i] + 1U])];
    seen |= high | low;
    bytes[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return (seen & 0xf0U) == 0;
}

bool has_upper_case(std::string_view text) noexcept {
  for (const char c : text) {
    if (c >= 'A' && c <= 'F') return true;
  }
  return false;
}

}  // namespace

Result<ItemName> ItemName::parse(std::string_view argument) {
  std::string_view name = argument;
  if (argument.size() >= 2 && argument.front() == '{' && argument.back() == '}') {
    const auto inside = argument.substr(1, argument.size() - 2);
    if (inside.find_first_of("{}") == std::string_view::npos) name = inside;
  }
  if (name.empty()) return Error(ErrorCode::err, "item name is empty; it has 1 to 128 bytes");
  if (name.size() > kItemNameBytesMax) {
    return Error::format(ErrorCode::err, "item name has {} bytes; it has 1 to {}", name.size(), kItemNameBytesMax);
  }
  return ItemName(name);
}

ItemName ItemName::from_stored(std::string_view bytes) {
  CHECK(!bytes.empty() && bytes.size() <= kItemNameBytesMax);
  return ItemName(bytes);
}

std::string_view ItemName::hash_tag() const noexcept {
  const auto open = bytes_.find('{');
  if (open == std::string_view::npos) return {};
  const auto close = bytes_.find('}', open + 1);
  if (close == std::string_view::npos) return {};
  return bytes_.substr(open + 1, close - open - 1);
}

std::uint16_t ItemName::slot() const noexcept {
  const auto tag = hash_tag();
  return crc16_xmodem(tag.empty() ? bytes_ : tag) & 16383U;
}

Result<UserId> UserId::parse(std::string_view argument) {
  if (argument.empty()) return Error(ErrorCode::err, "user is empty; it has 1 to 128 bytes");
  if (argument.size() > kUserBytesMax) {
    return Error::format(ErrorCode::err, "user has {} bytes; it has 1 to {}", argument.size(), kUserBytesMax);
  }
  UserId user;
  std::array<std::uint8_t, 16> uuid;
  if (parse_canonical(argument, UINT64_MAX, user.number_)) return user;
  user.number_ = 0;
  if (parse_uuid(argument, uuid) && !has_upper_case(argument)) {
    user.kind_ = Kind::uuid;
    std::memcpy(user.uuid_.data(), uuid.data(), uuid.size());
    return user;
  }
  user.kind_ = Kind::bytes;
  user.bytes_ = argument;
  return user;
}

UserId UserId::from_number(std::uint64_t number) noexcept {
  UserId user;
  user.number_ = number;
  return user;
}

UserId UserId::from_uuid(std::string_view bytes) {
  UserId user;
  CHECK(bytes.size() == user.uuid_.size());
  user.kind_ = Kind::uuid;
  std::memcpy(user.uuid_.data(), bytes.data(), bytes.size());
  return user;
}

UserId UserId::from_bytes(std::string_view bytes) {
  CHECK(!bytes.empty() && bytes.size() <= kUserBytesMax);
  UserId user;
  user.kind_ = Kind::bytes;
  user.bytes_ = bytes;
  return user;
}

std::string UserId::text() const {
  if (kind_ == Kind::number) return fmt::format_int(number_).str();
  if (kind_ == Kind::bytes) return std::string(bytes_);
  std::array<std::uint8_t, 16> bytes;
  std::memcpy(bytes.data(), uuid_.data(), bytes.size());
  const auto text = ReservationId(bytes).text();
  return {text.data(), text.size()};
}

Result<ReservationId> ReservationId::parse(std::string_view text) {
  std::array<std::uint8_t, kBytes> bytes;
  if (!parse_uuid(text, bytes)) {
    return Error::format(ErrorCode::err, "ID must be a UUID of 36 characters, got '{}'", Echo(text).text());
  }
  return ReservationId(bytes);
}

std::array<char, ReservationId::kTextBytes> ReservationId::text() const noexcept {
  std::array<char, kTextBytes> text;
  std::size_t at = 0;
  for (const auto byte : bytes_) {
    if (is_dash_position(at)) text[at++] = '-';
    text[at++] = kHexDigits[byte >> 4];
    text[at++] = kHexDigits[byte & 15];
  }
  return text;
}

bool parse_canonical(std::string_view text, std::uint64_t max, std::uint64_t& number) noexcept {
  if (text.empty() || text.size() > 20 || (text.size() > 1 && text[0] == '0')) return false;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  return ec == std::errc() && end == text.data() + text.size() && text[0] != '-' && number <= max;
}

bool parse_integer(std::string_view text, std::int64_t& number) noexcept {
  const auto digits = !text.empty() && text[0] == '-' ? text.substr(1) : text;
  if (digits.empty() || digits.size() > 19 || (digits[0] == '0' && text.size() > 1)) return false;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  return ec == std::errc() && end == text.data() + text.size();
}

}  // namespace holdfast
