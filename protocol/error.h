// Errors as values: a code from one table and a text that says what was wrong, where, and what to do.
// Used by every folder; any thread. An Error owns its text inline, so that making one allocates nothing.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <boost/assert/source_location.hpp>
#include <boost/system/result.hpp>
#include <cstdint>
#include <string_view>

namespace holdfast {

enum class ErrorCode : std::uint8_t {
#define HOLDFAST_ERROR(code, wire, summary) code,
#include "protocol/errors.def"
#undef HOLDFAST_ERROR
};

/// One line of errors.def.
struct ErrorEntry {
  ErrorCode code;
  std::string_view name;     // as in the table: "no_item"
  std::string_view wire;     // the first word of the reply: "NOITEM"
  std::string_view summary;  // a sentence for the manual
};

/// The whole table, in its order.
const ErrorEntry* error_table_begin() noexcept;
const ErrorEntry* error_table_end() noexcept;

/// The first word of an error reply with this code, without the dash.
std::string_view error_wire_word(ErrorCode code) noexcept;

/// A code and a text of at most kTextBytesMax bytes (longer texts are cut).
class [[nodiscard]] Error {
 public:
  static constexpr std::size_t kTextBytesMax = 400;

  /// Without a text; boost::system::result::error() of 1.81 wants it, for a result that holds a value.
  Error() noexcept : Error(ErrorCode::err, {}) {}
  Error(ErrorCode code, std::string_view text) noexcept
      : code_(code), size_(static_cast<std::uint16_t>(std::min(text.size(), kTextBytesMax))) {
    std::copy_n(text.data(), size_, text_.data());
  }

  /// Formats the text in place.
  template <class... Args>
  static Error format(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
    Error error(code, {});
    const auto end = fmt::format_to_n(error.text_.data(), kTextBytesMax, format, std::forward<Args>(args)...);
    error.size_ = static_cast<std::uint16_t>(std::min(end.size, kTextBytesMax));
    return error;
  }

  ErrorCode code() const noexcept { return code_; }
  std::string_view text() const noexcept { return {text_.data(), size_}; }

 private:
  ErrorCode code_;
  std::uint16_t size_;
  std::array<char, kTextBytesMax> text_;
};

/// What an operation that can fail returns. Never thrown; value() of a failed one is a programmer error.
template <class T>
using Result = boost::system::result<T, Error>;

/// Found by boost::system::result; stops the process, since value() was taken without a check.
[[noreturn]] void throw_exception_from_error(const Error& error, const boost::source_location& where);

/// Input as an error text repeats it: bytes that are not printable ASCII as \xNN, and what is then longer than 128 bytes
/// cut to that with "..." at its end.
class Echo {
 public:
  explicit Echo(std::string_view input) noexcept;
  std::string_view text() const noexcept { return {text_.data(), size_}; }

 private:
  static constexpr std::size_t kTextBytesMax = 128;
  std::array<char, kTextBytesMax> text_;
  std::size_t size_ = 0;
};

}  // namespace holdfast

/// Leaves the function with the error of a failed result; for Result<void> and for results whose value is unused.
#define HOLDFAST_TRY(expression)                                                \
  do {                                                                          \
    if (auto try_result = (expression); !try_result) return try_result.error(); \
  } while (false)
