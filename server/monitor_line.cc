#include "server/monitor_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace holdfast {
namespace {

constexpr std::string_view kRedacted = "\"(redacted)\"";

/// Whether a word in front, at most `distance` before it, is this option.
bool follows(Words words, std::size_t index, std::size_t distance, std::size_t first, std::string_view option) {
  for (std::size_t back = 1; back <= distance && index >= first + back; ++back) {
    if (equals_ignoring_case(words[index - back], option)) return true;
  }
  return false;
}

/// Options whose values are secrets, by what their names say.
bool names_secret(std::string_view option) {
  std::string upper(option);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  constexpr std::string_view kParts[] = {"PASS", "SECRET", "TOKEN", "AUTH"};
  return std::any_of(std::begin(kParts), std::end(kParts),
                     [&](std::string_view part) { return upper.find(part) != std::string::npos; });
}

}  // namespace

bool is_secret(const CommandEntry& entry, Words words, std::size_t index) noexcept {
  if (entry.name == "AUTH") return index >= 1;
  if (entry.name == "HELLO") return follows(words, index, 2, 2, "AUTH");
  if (entry.name == "RESERVE") return follows(words, index, 1, 3, "TOKEN");
  if (entry.name == "CONFIG" && entry.subcommand == "SET") {
    return index >= 3 && index % 2 == 1 && names_secret(words[index - 1]);
  }
  return entry.name == "ACL" && entry.subcommand == "SETUSER" && index >= 3;
}

void append_quoted(std::string& text, std::string_view bytes) {
  text += '"';
  for (const char c : bytes) {
    switch (c) {
      case '\\':
      case '"':
        text.append({'\\', c});
        break;
      case '\n':
        text += "\\n";
        break;
      case '\r':
        text += "\\r";
        break;
      case '\t':
        text += "\\t";
        break;
      case '\a':
        text += "\\a";
        break;
      case '\b':
        text += "\\b";
        break;
      default:
        if (c >= ' ' && c <= '~') {
          text += c;
        } else {
          fmt::format_to(std::back_inserter(text), "\\x{:02x}", static_cast<unsigned char>(c));
        }
    }
  }
  text += '"';
}

std::string monitor_line(std::chrono::microseconds wall, std::string_view address, const CommandEntry& entry,
                         Words words) {
  std::string line = fmt::format("+{}.{:06} [0 {}]", wall.count() / 1'000'000, wall.count() % 1'000'000, address);
  for (std::size_t i = 0; i < words.size(); ++i) {
    line += ' ';
    if (is_secret(entry, words, i)) {
      line += kRedacted;
    } else {
      append_quoted(line, words[i]);
    }
  }
  return line += "\r\n";
}

}  // namespace holdfast
