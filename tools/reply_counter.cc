#include "tools/reply_counter.h"

#include <algorithm>

namespace holdfast {

std::uint64_t ReplyCounter::feed(std::string_view bytes) {
  const std::uint64_t before = counts_.replies;
  for (std::size_t at = 0; at < bytes.size() && !broken_;) {
    const char c = bytes[at];
    switch (state_) {
      case State::type:
        take_type(c);
        ++at;
        break;
      case State::line:
        if (c == '-' && number_ == 0) negative_ = true;
        if (c >= '0' && c <= '9' && number_ < (1LL << 40)) number_ = number_ * 10 + (c - '0');
        if (c == '\r') state_ = State::line_end;
        ++at;
        break;
      case State::line_end:
        ++at;
        end_line();
        break;
      case State::bytes: {
        const auto take = std::min<std::int64_t>(skip_, static_cast<std::int64_t>(bytes.size() - at));
        at += static_cast<std::size_t>(take);
        skip_ -= take;
        if (skip_ == 0) end_value();
        break;
      }
    }
  }
  return counts_.replies - before;
}

void ReplyCounter::take_type(char type) {
  if (std::string_view(":+-$*%~_#,(=>").find(type) == std::string_view::npos) {
    broken_ = true;
    return;
  }
  type_ = type;
  top_ = open_values_ == 0;
  if (top_) {
    open_values_ = 1;
    if (type == '-') ++counts_.errors;
  }
  number_ = 0;
  negative_ = false;
  state_ = State::line;
}

void ReplyCounter::end_line() {
  const bool holds_bytes = type_ == '$' || type_ == '=';
  if (holds_bytes && !negative_) {
    skip_ = number_ + 2;
    state_ = State::bytes;
    return;
  }
  const bool list = type_ == '*' || type_ == '~' || type_ == '>' || type_ == '%';
  if (list && !negative_) open_values_ += static_cast<std::uint64_t>(type_ == '%' ? 2 * number_ : number_);
  if (type_ == ':' && top_) ++(negative_ ? counts_.refusals : counts_.successes);
  end_value();
}

void ReplyCounter::end_value() {
  state_ = State::type;
  if (--open_values_ == 0) ++counts_.replies;
}

}  // namespace holdfast
