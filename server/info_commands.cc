// INFO: the sections that are asked for.
#include "server/info_sections.h"
#include "server/info_telemetry.h"
#include "server/session.h"
#include "server/session_commands.h"

#include <algorithm>

namespace holdfast {
namespace {

/// Sections that are long: shown when they, ALL or EVERYTHING are asked for.
struct LongSection {
  std::string_view title;
  void (*write)(std::string& text, const SharedTelemetry& telemetry);
};
constexpr LongSection kLongSections[] = {{"Commandstats", write_commandstats}, {"Latencystats", write_latencystats}};

bool is_named(std::string_view word, std::string_view title) noexcept {
  return std::equal(word.begin(), word.end(), title.begin(), title.end(),
                    [](char a, char b) { return (a | 0x20) == (b | 0x20); });
}

bool is_wanted(Words names, std::string_view title, bool by_default) noexcept {
  if (names.empty()) return by_default;
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    return equals_ignoring_case(name, "ALL") || equals_ignoring_case(name, "EVERYTHING") ||
           (equals_ignoring_case(name, "DEFAULT") && by_default) || is_named(name, title);
  });
}

void begin_section(std::string& text, std::string_view title) {
  if (!text.empty()) text += "\r\n";
  text += fmt::format("# {}\r\n", title);
}

}  // namespace

void session_info(Session& session, Words words, ReplyWriter& reply) {
  const Words names = words.subspan(1);
  const ServerStatus status = session.host().status();
  std::string text;
  for (const InfoSection& section : info_sections()) {
    if (!is_wanted(names, section.title, true)) continue;
    begin_section(text, section.title);
    section.write(text, status);
  }
  for (const LongSection& section : kLongSections) {
    if (!is_wanted(names, section.title, false)) continue;
    begin_section(text, section.title);
    section.write(text, session.host().telemetry().shared());
  }
  reply.verbatim(text);
}

}  // namespace holdfast
