// Counts whole replies in a stream without keeping them: what a load generator needs to know of an answer. No I/O.
#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast {

class ReplyCounter {
 public:
  struct Counts {
    std::uint64_t replies = 0;
    std::uint64_t successes = 0;  // integers >= 0
    std::uint64_t refusals = 0;   // integers < 0
    std::uint64_t errors = 0;
  };

  /// Takes what came; returns how many replies became whole. `broken` when the bytes are no replies.
  std::uint64_t feed(std::string_view bytes);
  const Counts& counts() const noexcept { return counts_; }
  bool broken() const noexcept { return broken_; }

 private:
  enum class State : std::uint8_t { type, line, line_end, bytes };

  void take_type(char type);
  void end_line();
  void end_value();

  Counts counts_;
  State state_ = State::type;
  char type_ = 0;
  bool top_ = false;  // the value at hand is the reply itself
  bool negative_ = false;
  bool broken_ = false;
  std::int64_t number_ = 0;        // of the line at hand
  std::int64_t skip_ = 0;          // bytes of a bulk still to come, its end included
  std::uint64_t open_values_ = 0;  // values still to come before the reply at hand is whole
};

}  // namespace holdfast
