#include "tools/manual.h"

#include "protocol/command_table.h"
#include "tests/doctest.h"

#include <algorithm>
#include <sstream>
#include <string>

using namespace holdfast;

namespace {

std::string page(std::string_view name) {
  const auto pages = manual_pages();
  const auto found =
      std::find_if(pages.begin(), pages.end(), [&](const ManualPage& candidate) { return candidate.name == name; });
  REQUIRE(found != pages.end());
  return found->text;
}

}  // namespace

TEST_CASE("manual: every command has a heading, its syntax and its summary") {
  const std::string text = page("commands.md");
  for (const CommandEntry& command : command_table()) {
    CAPTURE(command.syntax);
    const std::string subcommand = command.subcommand.empty() ? "" : " " + std::string(command.subcommand);
    CHECK(text.find("\n## " + std::string(command.name) + subcommand + "\n\n    " + std::string(command.syntax) +
                    "\n\n" + std::string(command.summary)) != std::string::npos);
  }
}

TEST_CASE("manual: every error stands in one of the two tables, by its word or by its name") {
  const std::string text = page("errors.md");
  for (const ErrorEntry* error = error_table_begin(); error != error_table_end(); ++error) {
    CAPTURE(error->name);
    const auto row = [&](std::string_view key) {
      return text.find("| `" + std::string(key) + "` | ") != std::string::npos;
    };
    CHECK((row(error->wire) && row(error->wire == "ERR" && error->code != ErrorCode::err ? error->name : error->wire)));
  }
}

TEST_CASE("manual: a bar in a Markdown table is escaped") {
  std::istringstream lines(page("commands.md"));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| ")) continue;
    CAPTURE(line);
    std::size_t bars = 0;
    for (std::size_t i = 0; i < line.size(); ++i) bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\') ? 1U : 0U;
    CHECK(bars == 3);
  }
}

TEST_CASE("manual: man pages hold only requests that they mean") {
  for (const std::string_view name : {"holdfast-commands.7", "holdfast-errors.7", "holdfastd.1", "holdfastctl.1"}) {
    std::istringstream lines(page(name));
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with('.') && !line.starts_with('\'')) continue;
      CAPTURE(line);
      const std::string request = line.substr(0, line.find(' '));
      CHECK((request == ".TH" || request == ".SH" || request == ".TP" || request == ".B" || request == ".BR"));
    }
  }
}
