#include "protocol/resp_parser.h"

#include "protocol/check.h"
#include "protocol/line_words.h"
#include "protocol/names.h"

#include <algorithm>
#include <climits>
#include <cstring>

namespace holdfast {
namespace {

/// Bytes of a header line up to its CR. Like Redis's strchr, a NUL hides what follows it.
enum class Line : std::uint8_t { whole, partial, too_long };

Line find_line(std::string_view rest, char end, std::size_t& length) noexcept {
  const std::size_t searched = std::min(rest.size(), kLineBytesMax + 1);
  const void* found = std::memchr(rest.data(), end, searched);
  length = found != nullptr ? static_cast<std::size_t>(static_cast<const char*>(found) - rest.data()) : searched;
  if (std::memchr(rest.data(), 0, length) != nullptr) found = nullptr;
  if (found != nullptr) return Line::whole;
  return rest.size() > kLineBytesMax ? Line::too_long : Line::partial;
}

/// The number of "*d CR LF" or "$dd CR LF", as nearly all headers are, without the general functions. Returns the
/// header's length, 0 for any other header.
std::size_t short_header(std::string_view rest, char mark, std::uint32_t& number) noexcept {
  if (rest.size() < 5 || rest[0] != mark) return 0;
  const auto digit = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(rest[i])) - '0';
  };
  if (digit(1) > 9) return 0;
  if (rest[2] == '\r') return number = digit(1), std::size_t{4};
  if (digit(1) == 0 || digit(2) > 9 || rest[3] != '\r') return 0;
  return number = digit(1) * 10 + digit(2), std::size_t{5};
}

}  // namespace

RespParser::Parsed RespParser::next(std::string_view input, const RequestLimits& limits, RequestBuffer& request) {
  CHECK(problem_ == Problem::none);
  authenticated_ = limits.authenticated;
  std::size_t consumed = 0;
  while (consumed < input.size()) {
    const std::string_view rest = input.substr(consumed);
    if (rest.front() != '*') {
      std::size_t length = 0;
      const Outcome outcome = take_line(rest, limits, request, length);
      consumed += length;
      if (outcome != Outcome::request || request.count > 0) return {outcome, consumed};
      continue;
    }
    if (words_left_ == 0 && !begin_array(rest)) break;
    request.count = 0;
    if (words_left_ > 0 && !take_words(rest, limits, request)) break;
    consumed += at_;
    reset();
    if (request.count > 0) return {Outcome::request, consumed};
  }
  return {problem_ == Problem::none ? Outcome::incomplete : Outcome::failed, consumed};
}

/// "*n CR LF". False: incomplete or failed.
bool RespParser::begin_array(std::string_view input) {
  std::size_t length = short_header(input, '*', words_left_);
  if (length != 0) {
    at_ = words_begin_ = static_cast<std::uint32_t>(length);
    return true;
  }
  switch (find_line(input, '\r', length)) {
    case Line::too_long:
      return fail(Problem::words_length_line);
    case Line::partial:
      return false;
    case Line::whole:
      break;
  }
  if (input.size() < length + 2) return false;
  std::int64_t count = 0;
  if (!parse_integer(input.substr(1, length - 1), count) || count > INT_MAX) return fail(Problem::words_length);
  at_ = words_begin_ = static_cast<std::uint32_t>(length + 2);
  words_left_ = count > 0 ? static_cast<std::uint32_t>(count) : 0;
  return true;
}

/// The words of an array. A request that comes in one piece is collected on the way, another one when it is whole.
bool RespParser::take_words(std::string_view input, const RequestLimits& limits, RequestBuffer& request) {
  const bool in_one_piece = words_done_ == 0;
  while (words_left_ > 0) {
    if (word_bytes_ == kNoWord && !take_header(input, limits)) return false;
    if (input.size() - at_ < std::size_t{word_bytes_} + 2) return false;
    if (in_one_piece) request.words[words_done_] = input.substr(at_, word_bytes_);
    at_ += word_bytes_ + 2;  // what stands behind a word is not looked at, as in Redis
    word_bytes_ = kNoWord;
    ++words_done_;
    --words_left_;
  }
  request.count = words_done_;
  if (!in_one_piece) collect_words(input, request);
  return true;
}

/// "$n CR LF". False: incomplete or failed.
bool RespParser::take_header(std::string_view input, const RequestLimits& limits) {
  const std::string_view rest = input.substr(at_);
  if (rest.empty()) return false;
  if (words_done_ >= limits.words_max) return fail(Problem::words_many);
  if (const std::size_t header = short_header(rest, '$', word_bytes_); header != 0) {
    request_bytes_ += word_bytes_;
    at_ += static_cast<std::uint32_t>(header);
    return request_bytes_ <= limits.request_bytes_max || fail(Problem::request_long);
  }
  std::size_t length = 0;
  switch (find_line(rest, '\r', length)) {
    case Line::too_long:
      return fail(Problem::word_length_line);
    case Line::partial:
      return false;
    case Line::whole:
      break;
  }
  if (rest.size() < length + 2) return false;
  if (rest.front() != '$') {
    found_ = rest.front();
    return fail(Problem::word_mark);
  }
  std::int64_t bytes = 0;
  if (!parse_integer(rest.substr(1, length - 1), bytes) || bytes < 0 || bytes > limits.word_bytes_max) {
    return fail(Problem::word_length);
  }
  request_bytes_ += static_cast<std::uint32_t>(bytes);
  if (request_bytes_ > limits.request_bytes_max) return fail(Problem::request_long);
  word_bytes_ = static_cast<std::uint32_t>(bytes);
  at_ += static_cast<std::uint32_t>(length + 2);
  return true;
}

/// Walks a whole, checked request once more.
void RespParser::collect_words(std::string_view input, RequestBuffer& request) const {
  std::size_t at = words_begin_;
  for (std::size_t i = 0; i < words_done_; ++i) {
    const std::size_t length = input.find('\r', at) - at;
    std::int64_t bytes = 0;
    CHECK(parse_integer(input.substr(at + 1, length - 1), bytes));
    request.words[i] = input.substr(at + length + 2, static_cast<std::size_t>(bytes));
    at += length + 2 + static_cast<std::size_t>(bytes) + 2;
  }
  CHECK(at == at_);
}

RespParser::Outcome RespParser::take_line(std::string_view input, const RequestLimits& limits, RequestBuffer& request,
                                          std::size_t& length) {
  std::size_t end = 0;
  switch (find_line(input, '\n', end)) {
    case Line::too_long:
      fail(Problem::line_long);
      return Outcome::failed;
    case Line::partial:
      return Outcome::incomplete;
    case Line::whole:
      break;
  }
  length = end + 1;
  if (end > 0 && input[end - 1] == '\r') --end;
  switch (split_line(input.substr(0, end), limits.words_max, request)) {
    case LineWords::ok:
      return Outcome::request;
    case LineWords::unbalanced:
      fail(Problem::quotes);
      break;
    case LineWords::too_many:
      fail(Problem::words_many);
      break;
  }
  return Outcome::failed;
}

bool RespParser::fail(Problem problem) noexcept {
  problem_ = problem;
  return false;
}

void RespParser::reset() noexcept {
  at_ = words_begin_ = words_left_ = words_done_ = request_bytes_ = 0;
  word_bytes_ = kNoWord;
}

Error RespParser::error() const {
  CHECK(problem_ != Problem::none);
  const auto text = [](std::string_view what) { return Error::format(ErrorCode::err, "Protocol error: {}", what); };
  switch (problem_) {
    case Problem::words_length:
      return text("invalid multibulk length");
    case Problem::words_length_line:
      return text("too big mbulk count string");
    case Problem::word_mark:
      return Error::format(ErrorCode::err, "Protocol error: expected '$', got '{}'", found_);
    case Problem::word_length:
      return text(authenticated_ ? "invalid bulk length" : "unauthenticated bulk length");
    case Problem::word_length_line:
      return text("too big bulk count string");
    case Problem::words_many:
      return text(authenticated_ ? "invalid multibulk length" : "unauthenticated multibulk length");
    case Problem::request_long:
      return text("too big request");
    case Problem::line_long:
      return text("too big inline request");
    case Problem::quotes:
      return text("unbalanced quotes in request");
    case Problem::none:
      break;
  }
  return text("none");
}

}  // namespace holdfast
