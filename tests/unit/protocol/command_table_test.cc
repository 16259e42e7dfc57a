#include "protocol/command_table.h"

#include "tests/doctest.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

using namespace holdfast;
using namespace std::string_literals;

namespace {

using Request = std::vector<std::string_view>;

/// The syntax's first word(s) of the command that a request means, or "error: " and the text.
std::string found(const Request& words) {
  const auto entry = find_command(words);
  if (!entry) return "error: " + std::string(entry.error().text());
  std::string name((*entry)->name);
  if (!(*entry)->subcommand.empty()) name.append(" ").append((*entry)->subcommand);
  return name;
}

/// A request of `count` words that begins as the command does.
Request request_of(const CommandEntry& entry, std::size_t count) {
  Request words = {entry.name};
  if (!entry.subcommand.empty()) words.push_back(entry.subcommand);
  words.resize(count, "x");
  return words;
}

bool has_subcommands(std::string_view name) {
  return std::any_of(command_table().begin(), command_table().end(),
                     [&](const CommandEntry& entry) { return entry.name == name && !entry.subcommand.empty(); });
}

std::size_t least_words(const CommandEntry& entry) { return static_cast<std::size_t>(std::abs(entry.arity)); }

}  // namespace

TEST_CASE("command table: each command stands once, at its own index") {
  std::set<std::string> names;
  for (std::size_t i = 0; i < command_table().size(); ++i) {
    const CommandEntry& entry = command_table()[i];
    CAPTURE(entry.syntax);
    CHECK(static_cast<std::size_t>(entry.id) == i);
    CHECK(names.insert(std::string(entry.name) + ' ' + std::string(entry.subcommand)).second);
  }
}

TEST_CASE("command table: a line agrees with itself") {
  for (const CommandEntry& entry : command_table()) {
    CAPTURE(entry.syntax);
    const std::string name(entry.name);
    CHECK(entry.syntax.starts_with(entry.subcommand.empty() ? name : name + ' ' + std::string(entry.subcommand)));
    CHECK(entry.summary.ends_with('.'));
    CHECK(entry.arity != 0);
    CHECK(least_words(entry) >= (entry.subcommand.empty() ? 1U : 2U));
    CHECK(entry.key < static_cast<int>(least_words(entry)));
    CHECK(std::none_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; }));
  }
}

TEST_CASE("command table: every command is found in any case of letters") {
  for (const CommandEntry& entry : command_table()) {
    CAPTURE(entry.syntax);
    auto words = request_of(entry, least_words(entry));
    CHECK(find_command(words).value()->id == entry.id);
    std::string name(entry.name);
    std::string subcommand(entry.subcommand);
    const auto lower = [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); };
    std::transform(name.begin(), name.end(), name.begin(), lower);
    std::transform(subcommand.begin(), subcommand.end(), subcommand.begin(), lower);
    words[0] = name;
    if (!subcommand.empty()) words[1] = subcommand;
    CHECK(find_command(words).value()->id == entry.id);
  }
}

TEST_CASE("command table: a number of words that does not fit is refused, one that fits is not") {
  for (const CommandEntry& entry : command_table()) {
    CAPTURE(entry.syntax);
    const std::size_t least = least_words(entry);
    CHECK(find_command(request_of(entry, least)).has_value());
    // Behind a name that also has subcommands a further word is one of these.
    const bool takes_more = entry.arity < 0 && !(entry.subcommand.empty() && has_subcommands(entry.name));
    CHECK(find_command(request_of(entry, least + 1)).has_value() == takes_more);
    if (least > (entry.subcommand.empty() ? 1U : 2U))
      CHECK_FALSE(find_command(request_of(entry, least - 1)).has_value());
  }
}

TEST_CASE("command table: the refusal of a wrong number of words is Redis's (RC-53)") {
  CHECK(found({"GET"}) == "error: wrong number of arguments for 'get' command");
  CHECK(found({"get", "a", "b"}) == "error: wrong number of arguments for 'get' command");
  CHECK(found({"Reserve", "item:1"}) == "error: wrong number of arguments for 'reserve' command");
  CHECK(found({"ITEM", "get"}) == "error: wrong number of arguments for 'item|get' command");
  CHECK(found({"ITEM"}) == "error: wrong number of arguments for 'item' command");
}

TEST_CASE("command table: the refusal of an unknown command is Redis's, trailing space included (RC-51)") {
  CHECK(found({"FOO", "bar", "baz"}) == "error: unknown command 'FOO', with args beginning with: 'bar' 'baz' ");
  CHECK(found({"NOSUCH"}) == "error: unknown command 'NOSUCH', with args beginning with: ");
  CHECK(found({""}) == "error: unknown command '', with args beginning with: ");
  CHECK(found({"GET ", "a"}) == "error: unknown command 'GET ', with args beginning with: 'a' ");
}

TEST_CASE("command table: the refusal of an unknown command repeats 128 bytes of the name and of the arguments") {
  const std::string begin = "error: unknown command '";
  const std::string middle = "', with args beginning with: ";
  const std::string at_limit(128, 'n');
  CHECK(found({at_limit}) == begin + at_limit + middle);
  CHECK(found({at_limit + "n"}) == begin + at_limit + middle);
  CHECK(found({"X", at_limit}) == begin + "X" + middle + "'" + at_limit + "' ");
  CHECK(found({"X", at_limit + "n", "more"}) == begin + "X" + middle + "'" + at_limit + "' ");
  // 'bbb...' takes 125 bytes of the 128, which leaves 3 for the next one.
  const std::string most(122, 'b');
  CHECK(found({"X", most, "cccc", "d"}) == begin + "X" + middle + "'" + most + "' 'ccc' ");
}

TEST_CASE("command table: an unknown subcommand names itself and the help") {
  CHECK(found({"ITEM", "FOO"}) == "error: unknown subcommand 'FOO'. Try ITEM HELP.");
  CHECK(found({"item", "foo", "bar"}) == "error: unknown subcommand 'foo'. Try ITEM HELP.");
  CHECK(found({"ITEM", ""}) == "error: unknown subcommand ''. Try ITEM HELP.");
  CHECK(found({"ITEM", std::string(129, 's')}) ==
        "error: unknown subcommand '" + std::string(128, 's') + "'. Try ITEM HELP.");
}

TEST_CASE("command table: a command that stands alone and has subcommands is both") {
  CHECK(found({"COMMAND"}) == "COMMAND");
  CHECK(found({"command", "count"}) == "COMMAND COUNT");
  CHECK(found({"COMMAND", "FOO"}) == "error: unknown subcommand 'FOO'. Try COMMAND HELP.");
}

TEST_CASE("command table: a name and its subcommand in one word are no command") {
  CHECK(found({"ITEM GET", "x", "y"}).starts_with("error: unknown command 'ITEM GET'"));
  CHECK(found({"ITEM|GET", "x", "y"}).starts_with("error: unknown command 'ITEM|GET'"));
}

TEST_CASE("command table: letters compare without regard to case, other bytes as they are") {
  CHECK(equals_ignoring_case("max-Hold", "MAX-HOLD"));
  CHECK(equals_ignoring_case("", ""));
  CHECK_FALSE(equals_ignoring_case("GE", "GET"));
  CHECK_FALSE(equals_ignoring_case("GETT", "GET"));
  CHECK_FALSE(equals_ignoring_case("\x07ET", "GET"));  // differs from 'G' by more than the bit of the case
  CHECK_FALSE(equals_ignoring_case("{", "["));
}

TEST_CASE("command table: every role has its name, and a user can have all but two") {
  std::set<std::string_view> names;
  for (const RoleEntry& entry : role_table()) {
    CHECK(names.insert(role_name(entry.role)).second);
    CHECK(entry.summary.ends_with('.'));
    const bool general = entry.role == Role::open || entry.role == Role::any;
    CHECK((find_role(entry.name) == nullptr) == general);
  }
  CHECK(role_name(Role::buyer) == "buyer");
  CHECK(find_role("nosuch") == nullptr);
  CHECK(find_role("Buyer") == nullptr);
}

TEST_CASE("command table: every command names a role, and what writes one that has to be given") {
  for (const CommandEntry& entry : command_table()) {
    CAPTURE(entry.syntax);
    CHECK((role_bit(entry.role) & kAllRoles) != 0);
    CHECK((entry.access != CommandAccess::write || find_role(role_name(entry.role)) != nullptr));
  }
}
