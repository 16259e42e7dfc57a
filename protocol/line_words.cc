#include "protocol/line_words.h"

#include "protocol/check.h"

namespace holdfast {
namespace {

constexpr bool is_blank(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }
constexpr bool ends_word(char c) noexcept { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

constexpr int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr char escaped(char c) noexcept {
  switch (c) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'b':
      return '\b';
    case 'a':
      return '\a';
    default:
      return c;
  }
}

/// Reads one word at a time and writes its bytes behind those of the words before.
class Splitter {
 public:
  Splitter(std::string_view line, char* out) noexcept : line_(line), out_(out) {}

  bool at_word() noexcept {
    while (at_ < line_.size() && is_blank(line_[at_])) ++at_;
    return at_ < line_.size();
  }

  /// False: a quote is not closed, or something follows the closing one.
  bool take_word(std::string_view& word) noexcept {
    const char* begin = out_;
    while (at_ < line_.size() && !ends_word(line_[at_])) {
      const char c = line_[at_++];
      if (c == '"' || c == '\'') {
        if (!(c == '"' ? take_double() : take_single())) return false;
        break;
      }
      *out_++ = c;
    }
    word = {begin, static_cast<std::size_t>(out_ - begin)};
    return true;
  }

 private:
  char peek(std::size_t ahead) const noexcept { return at_ + ahead < line_.size() ? line_[at_ + ahead] : '\0'; }
  bool closes() noexcept { return ++at_ >= line_.size() || is_blank(line_[at_]); }

  bool take_double() noexcept {
    for (; at_ < line_.size(); ++at_) {
      if (line_[at_] == '"') return closes();
      if (line_[at_] != '\\' || peek(1) == '\0') {
        *out_++ = line_[at_];
      } else if (peek(1) == 'x' && hex_digit(peek(2)) >= 0 && hex_digit(peek(3)) >= 0) {
        *out_++ = static_cast<char>(hex_digit(peek(2)) * 16 + hex_digit(peek(3)));
        at_ += 3;
      } else {
        *out_++ = escaped(line_[++at_]);
      }
    }
    return false;
  }

  bool take_single() noexcept {
    for (; at_ < line_.size(); ++at_) {
      if (line_[at_] == '\'') return closes();
      if (line_[at_] == '\\' && peek(1) == '\'') ++at_;
      *out_++ = line_[at_];
    }
    return false;
  }

  std::string_view line_;
  std::size_t at_ = 0;
  char* out_;
};

}  // namespace

LineWords split_line(std::string_view line, std::size_t words_max, RequestBuffer& request) {
  CHECK(line.size() <= kLineBytesMax && words_max <= kRequestWordsMax);
  Splitter splitter(line, request.line_bytes.data());
  request.count = 0;
  while (splitter.at_word()) {
    if (request.count == words_max) return LineWords::too_many;
    if (!splitter.take_word(request.words[request.count])) return LineWords::unbalanced;
    ++request.count;
  }
  return LineWords::ok;
}

}  // namespace holdfast
