#include "protocol/error.h"

#include "protocol/check.h"

#include <cstdio>
#include <cstdlib>

namespace holdfast {
namespace {

constexpr ErrorEntry kErrors[] = {
#define HOLDFAST_ERROR(code, wire, summary) {ErrorCode::code, #code, wire, summary},
#include "protocol/errors.def"
#undef HOLDFAST_ERROR
};

constexpr char kHexDigits[] = "0123456789abcdef";

}  // namespace

const ErrorEntry* error_table_begin() noexcept { return std::begin(kErrors); }
const ErrorEntry* error_table_end() noexcept { return std::end(kErrors); }

std::string_view error_wire_word(ErrorCode code) noexcept { return kErrors[static_cast<std::size_t>(code)].wire; }

void throw_exception_from_error(const Error& error, const boost::source_location& where) {
  std::fprintf(stderr, "value of a failed result: %.*s\n", static_cast<int>(error.text().size()), error.text().data());
  check_failed(where.file_name(), static_cast<int>(where.line()), "result has a value");
}

Echo::Echo(std::string_view input) noexcept {
  constexpr std::string_view kCut = "...";
  std::size_t cut_at = 0;  // where the mark goes if the rest turns out not to fit
  for (const char c : input) {
    const auto byte = static_cast<unsigned char>(c);
    const bool printable = byte >= 0x20 && byte < 0x7f;
    if (size_ + (printable ? 1 : 4) > kTextBytesMax) {
      size_ = cut_at + kCut.copy(text_.data() + cut_at, kCut.size());
      return;
    }
    if (printable) {
      text_[size_++] = c;
    } else {
      for (const char part : {'\\', 'x', kHexDigits[byte >> 4], kHexDigits[byte & 15]}) text_[size_++] = part;
    }
    if (size_ + kCut.size() <= kTextBytesMax) cut_at = size_;
  }
}

}  // namespace holdfast
