#include "server/option_reader.h"

namespace holdfast {

bool OptionReader::take(std::string_view name, unsigned bit) {
  if (at_end() || !equals_ignoring_case(words_[next_], name)) return false;
  if (has(bit)) fail(Error::format(ErrorCode::err, "{} is given twice", name));
  seen_ |= 1U << bit;
  name_ = name;
  ++next_;
  return true;
}

std::string_view OptionReader::value() {
  if (at_end()) {
    fail(Error::format(ErrorCode::err, "{} needs a value", name_));
    return {};
  }
  return words_[next_++];
}

std::uint64_t OptionReader::number(std::uint64_t low, std::uint64_t high) {
  const std::string_view text = value();
  std::uint64_t number = 0;
  if (!failed() && (!parse_canonical(text, high, number) || number < low)) {
    fail(Error::format(ErrorCode::err, "{} must be a number from {} to {}, got '{}'", name_, low, high,
                       Echo(text).text()));
  }
  return number;
}

void OptionReader::unknown() { fail(Error::format(ErrorCode::err, "unknown option '{}'", Echo(words_[next_]).text())); }

}  // namespace holdfast
