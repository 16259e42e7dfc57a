// INFO: the sections that are asked for.
#include "server/info_sections.h"
#include "server/session.h"
#include "server/session_commands.h"

#include <algorithm>

namespace holdfast {
namespace {

bool is_named(std::string_view word, std::string_view title) noexcept {
  return std::equal(word.begin(), word.end(), title.begin(), title.end(),
                    [](char a, char b) { return (a | 0x20) == (b | 0x20); });
}

bool is_wanted(Words names, const InfoSection& section) noexcept {
  if (names.empty()) return section.by_default;
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    return equals_ignoring_case(name, "ALL") || equals_ignoring_case(name, "EVERYTHING") ||
           (equals_ignoring_case(name, "DEFAULT") && section.by_default) || is_named(name, section.title);
  });
}

}  // namespace

void session_info(Session& session, Words words, ReplyWriter& reply) {
  const ServerStatus status = session.host().status();
  std::string text;
  for (const InfoSection& section : info_sections()) {
    if (!is_wanted(words.subspan(1), section)) continue;
    if (!text.empty()) text += "\r\n";
    text += fmt::format("# {}\r\n", section.title);
    section.write(text, status);
  }
  reply.verbatim(text);
}

}  // namespace holdfast
