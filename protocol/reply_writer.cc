#include "protocol/reply_writer.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast {
namespace {

constexpr std::string_view kEnd = "\r\n";

}  // namespace

void ReplyWriter::header(char type, std::uint64_t count) {
  const fmt::format_int digits(count);
  out_.push_back(type);
  out_.append(digits.data(), digits.size());
  out_.append(kEnd);
}

void ReplyWriter::integer(std::int64_t number) {
  const fmt::format_int digits(number);
  out_.push_back(':');
  out_.append(digits.data(), digits.size());
  out_.append(kEnd);
}

void ReplyWriter::status(std::string_view text) {
  out_.push_back('+');
  out_.append(text);
  out_.append(kEnd);
}

void ReplyWriter::bulk(std::string_view bytes) {
  header('$', bytes.size());
  out_.append(bytes);
  out_.append(kEnd);
}

void ReplyWriter::error(const Error& error) {
  out_.push_back('-');
  out_.append(error_wire_word(error.code()));
  out_.push_back(' ');
  const auto start = static_cast<std::ptrdiff_t>(out_.size());
  out_.append(error.text());
  std::replace_if(
      out_.begin() + start, out_.end(), [](char c) { return c == '\r' || c == '\n' || c == '\0'; }, ' ');
  out_.append(kEnd);
}

void ReplyWriter::raw_error(std::string_view text) {
  out_.push_back('-');
  out_.append(text);
  out_.append(kEnd);
}

void ReplyWriter::null() { out_.append(version_ == RespVersion::resp3 ? "_\r\n" : "$-1\r\n"); }

void ReplyWriter::null_array() { out_.append(version_ == RespVersion::resp3 ? "_\r\n" : "*-1\r\n"); }

void ReplyWriter::array(std::size_t count) { header('*', count); }

void ReplyWriter::map(std::size_t pairs) {
  if (version_ == RespVersion::resp3) return header('%', pairs);
  header('*', 2 * pairs);
}

void ReplyWriter::set(std::size_t count) { header(version_ == RespVersion::resp3 ? '~' : '*', count); }

void ReplyWriter::push(std::size_t count) { header(version_ == RespVersion::resp3 ? '>' : '*', count); }

void ReplyWriter::verbatim(std::string_view text) {
  if (version_ == RespVersion::resp2) return bulk(text);
  header('=', text.size() + 4);
  out_.append("txt:");
  out_.append(text);
  out_.append(kEnd);
}

}  // namespace holdfast
