// Walks over the options of a request: "NAME value" pairs and flags, each at most once. Any thread.
#pragma once

#include "protocol/command_table.h"
#include "protocol/names.h"

#include <optional>

namespace holdfast {

class OptionReader {
 public:
  /// `first`: where the options begin.
  OptionReader(Words words, std::size_t first) noexcept : words_(words), next_(first) {}

  bool at_end() const noexcept { return next_ >= words_.size(); }
  /// If the next word is this option, steps over it and returns true. An option seen before is an error, kept until
  /// `finish`. REQUIRES: `name` in upper case, `bit` its own among the request's options.
  bool take(std::string_view name, unsigned bit);
  /// The value of the option just taken; empty, and an error, when the words end here.
  std::string_view value();
  /// As `value`, as a canonical number of low..high.
  std::uint64_t number(std::uint64_t low, std::uint64_t high);
  /// As `value`, parsed by `parse` (an ItemName, UserId or ReservationId's).
  template <class T>
  std::optional<T> parsed() {
    auto result = T::parse(value());
    if (!result) fail(result.error());
    return result ? std::optional<T>(*result) : std::nullopt;
  }
  void fail(const Error& error) {
    if (!error_) error_ = error;
  }
  bool failed() const noexcept { return error_.has_value(); }
  const Error& error() const noexcept { return *error_; }
  /// The error for a word that is no option of this command.
  void unknown();
  /// Whether an option was taken.
  bool has(unsigned bit) const noexcept { return (seen_ & 1U << bit) != 0; }

 private:
  Words words_;
  std::size_t next_;
  std::string_view name_;  // of the option taken last
  unsigned seen_ = 0;
  std::optional<Error> error_;
};

}  // namespace holdfast
