// What items, users and reservations are called: parsed once from an argument, compared by value afterwards.
// Views point into the argument they were parsed from. No state; any thread.
#pragma once

#include "protocol/error.h"
#include "protocol/types.h"

#include <array>
#include <cstring>
#include <string>

namespace holdfast {

inline constexpr std::size_t kItemNameBytesMax = 128;
inline constexpr std::size_t kUserBytesMax = 128;

/// An item's name, 1-128 bytes, without the one pair of braces an argument may have around it.
class ItemName {
 public:
  /// The name that an argument means: "{item:1}" and "item:1" are one. "{}" and names of 0 or more than 128 bytes are
  /// errors. Braces with a brace between them name themselves.
  static Result<ItemName> parse(std::string_view argument);
  /// Takes bytes that were a name before (a record's). REQUIRES: 1-128 bytes.
  static ItemName from_stored(std::string_view bytes);

  std::string_view bytes() const noexcept { return bytes_; }
  /// What is between the first "{" and the next "}", if not empty; else the empty view. Redis's hash-tag rule.
  std::string_view hash_tag() const noexcept;
  /// Redis Cluster's slot, 0..16383: CRC16 (XMODEM) of the hash tag, or of the whole name without one.
  std::uint16_t slot() const noexcept;
  bool operator==(const ItemName&) const noexcept = default;

 private:
  explicit ItemName(std::string_view bytes) noexcept : bytes_(bytes) {}
  std::string_view bytes_;
};

/// A user: a canonical decimal number below 2^64, a canonical (lower-case) UUID, or 1-128 other bytes.
class UserId {
 public:
  enum class Kind : std::uint8_t { number = 0, uuid = 1, bytes = 2 };

  /// Errors: empty, or longer than 128 bytes. "-" is an ordinary name here; commands give it its meaning.
  static Result<UserId> parse(std::string_view argument);
  static UserId from_number(std::uint64_t number) noexcept;
  /// REQUIRES: 16 bytes.
  static UserId from_uuid(std::string_view bytes);
  /// REQUIRES: 1-128 bytes.
  static UserId from_bytes(std::string_view bytes);

  Kind kind() const noexcept { return kind_; }
  std::uint64_t number() const noexcept { return number_; }
  /// The 16 bytes of a UUID or the bytes of a name; empty for a number.
  std::string_view bytes() const noexcept {
    return kind_ == Kind::uuid ? std::string_view(uuid_.data(), uuid_.size()) : bytes_;
  }
  /// The text exactly as it came in.
  std::string text() const;
  bool operator==(const UserId& other) const noexcept {
    return kind_ == other.kind_ && number_ == other.number_ && bytes() == other.bytes();
  }

 private:
  Kind kind_ = Kind::number;
  std::uint64_t number_ = 0;
  std::array<char, 16> uuid_{};
  std::string_view bytes_;
};

/// 16 bytes that name one reservation of one item version (RFC 9562's layout, any version).
class ReservationId {
 public:
  static constexpr std::size_t kBytes = 16;
  static constexpr std::size_t kTextBytes = 36;

  constexpr ReservationId() noexcept = default;
  explicit ReservationId(const std::array<std::uint8_t, kBytes>& bytes) noexcept : bytes_(bytes) {}
  /// The usual form of 36 characters, hexadecimal digits in either case; anything else is an error.
  static Result<ReservationId> parse(std::string_view text);

  const std::array<std::uint8_t, kBytes>& bytes() const noexcept { return bytes_; }
  /// Lower case, 36 characters.
  std::array<char, kTextBytes> text() const noexcept;
  auto operator<=>(const ReservationId&) const noexcept = default;

 private:
  std::array<std::uint8_t, kBytes> bytes_{};
};

/// A canonical decimal number: digits without sign, leading zeros or spaces, at most `max`. Nothing when it is none.
bool parse_canonical(std::string_view text, std::uint64_t max, std::uint64_t& number) noexcept;
/// As Redis's string2ll: an optional minus, no leading zeros, "-0" refused, the range of int64_t.
bool parse_integer(std::string_view text, std::int64_t& number) noexcept;

}  // namespace holdfast
