#include "server/monitor_line.h"

#include "server/redaction.h"

#include <fmt/format.h>

#include <iterator>

namespace holdfast {
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
    append_quoted(line, is_secret(entry, words, i) ? kRedacted : words[i]);
  }
  return line += "\r\n";
}

}  // namespace holdfast
