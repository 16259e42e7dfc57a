// Numbers as the files hold them: little-endian, and variable-length (LEB128, zigzag for signed ones, shortest form
// only). Pure functions; any thread. Reading never leaves the span it was given.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace holdfast {

static_assert(std::endian::native == std::endian::little, "the formats are written as the machine holds numbers");

template <class T>
inline void store(std::span<std::byte> block, std::size_t offset, const T& value) noexcept {
  std::memcpy(block.subspan(offset, sizeof(T)).data(), &value, sizeof(T));
}

template <class T>
inline T load(std::span<const std::byte> block, std::size_t offset) noexcept {
  T value;
  std::memcpy(&value, block.subspan(offset, sizeof(T)).data(), sizeof(T));
  return value;
}

constexpr std::uint64_t zigzag(std::int64_t value) noexcept {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t value) noexcept {
  return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

/// Appends to memory that the caller has made large enough.
class ByteWriter {
 public:
  explicit ByteWriter(std::byte* begin) noexcept : begin_(begin), at_(begin) {}

  template <class T>
  void fixed(const T& value) noexcept {
    std::memcpy(at_, &value, sizeof(T));
    at_ += sizeof(T);
  }
  void number(std::uint64_t value) noexcept {
    while (value >= 0x80) {
      *at_++ = static_cast<std::byte>(value | 0x80);
      value >>= 7;
    }
    *at_++ = static_cast<std::byte>(value);
  }
  void integer(std::int64_t value) noexcept { number(zigzag(value)); }
  /// Its length as a number, then the bytes.
  void text(std::string_view bytes) noexcept {
    number(bytes.size());
    raw(bytes);
  }
  void raw(std::string_view bytes) noexcept {
    if (!bytes.empty()) std::memcpy(at_, bytes.data(), bytes.size());
    at_ += bytes.size();
  }
  std::size_t size() const noexcept { return static_cast<std::size_t>(at_ - begin_); }

 private:
  std::byte* begin_;
  std::byte* at_;
};

/// Takes from the front of a span. After anything that does not fit, ok() is false and all further values are empty.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}

  bool ok() const noexcept { return ok_; }
  bool at_end() const noexcept { return rest_.empty(); }
  /// What was not taken yet.
  std::span<const std::byte> rest() const noexcept { return rest_; }

  template <class T>
  T fixed() noexcept {
    T value{};
    if (take(sizeof(T))) {
      std::memcpy(&value, taken_.data(), sizeof(T));
    }
    return value;
  }
  std::uint64_t number() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = fixed<std::uint8_t>();
      if (!ok_ || (shift == 63 && byte > 1) || (shift > 0 && byte == 0)) break;
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
    ok_ = false;
    return 0;
  }
  std::int64_t integer() noexcept { return unzigzag(number()); }
  std::string_view text(std::size_t bytes_max) noexcept {
    const std::uint64_t size = number();
    return size <= bytes_max ? raw(static_cast<std::size_t>(size)) : fail();
  }
  std::string_view raw(std::size_t bytes) noexcept {
    if (!take(bytes)) return {};
    return {reinterpret_cast<const char*>(taken_.data()), taken_.size()};
  }

 private:
  bool take(std::size_t bytes) noexcept {
    if (!ok_ || bytes > rest_.size()) return ok_ = false;
    taken_ = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return true;
  }
  std::string_view fail() noexcept {
    ok_ = false;
    return {};
  }

  std::span<const std::byte> rest_;
  std::span<const std::byte> taken_;
  bool ok_ = true;
};

}  // namespace holdfast
