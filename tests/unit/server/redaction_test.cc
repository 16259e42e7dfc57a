#include "server/redaction.h"

#include "tests/doctest.h"

using namespace holdfast;

namespace {

/// The words, secrets as "*".
std::vector<std::string_view> shown(std::vector<std::string_view> words) {
  const auto entry = find_command(words);
  REQUIRE(entry.has_value());
  std::vector<std::string_view> shown;
  for (std::size_t i = 0; i < words.size(); ++i) shown.push_back(is_secret(**entry, words, i) ? "*" : words[i]);
  return shown;
}

using Shown = std::vector<std::string_view>;

}  // namespace

TEST_CASE("redaction: passwords and their users are secret") {
  CHECK(shown({"auth", "x"}) == Shown{"auth", "*"});
  CHECK(shown({"AUTH", "me", "x"}) == Shown{"AUTH", "*", "*"});
  CHECK(shown({"hello", "3", "auth", "me", "x", "setname", "n"}) ==
        Shown{"hello", "3", "auth", "*", "*", "setname", "n"});
  CHECK(shown({"HELLO", "AUTH", "me", "x"}) == Shown{"HELLO", "AUTH", "*", "*"});
}

TEST_CASE("redaction: a token is secret also where it is not asked for") {
  CHECK(shown({"CONFIRM", "i", "u", "token", "x"}) == Shown{"CONFIRM", "i", "u", "token", "*"});
  CHECK(shown({"RELEASE", "i", "u", "WRITEOFF", "TOKEN", "x"}) == Shown{"RELEASE", "i", "u", "WRITEOFF", "TOKEN", "*"});
  CHECK(shown({"RESERVATION", "GET", "i", "TOKEN", "x"}) == Shown{"RESERVATION", "GET", "i", "TOKEN", "*"});
}

TEST_CASE("redaction: COMMAND GETKEYS hides what the command asked about would") {
  CHECK(shown({"COMMAND", "GETKEYS", "RESERVE", "i", "u", "TOKEN", "x"}) ==
        Shown{"COMMAND", "GETKEYS", "RESERVE", "i", "u", "TOKEN", "*"});
  CHECK(shown({"command", "getkeysandflags", "auth", "x"}) == Shown{"command", "getkeysandflags", "auth", "*"});
  CHECK(shown({"COMMAND", "GETKEYS", "nosuch", "x"}) == Shown{"COMMAND", "GETKEYS", "nosuch", "x"});
}

TEST_CASE("redaction: the token of RESERVE is secret, an item or user of that name is not") {
  CHECK(shown({"RESERVE", "TOKEN", "TOKEN", "QTY", "1", "token", "x"}) ==
        Shown{"RESERVE", "TOKEN", "TOKEN", "QTY", "1", "token", "*"});
  CHECK(shown({"CONFIRM", "TOKEN", "x"}) == Shown{"CONFIRM", "TOKEN", "x"});
}

TEST_CASE("redaction: of CONFIG SET the values are secret whose names sound like one") {
  CHECK(shown({"config", "set", "timeout", "1", "RequirePass", "x", "tls-key-secret", "y"}) ==
        Shown{"config", "set", "timeout", "1", "RequirePass", "*", "tls-key-secret", "*"});
  CHECK(shown({"CONFIG", "SET", "masterauth", "x", "timeout", "1"}) ==
        Shown{"CONFIG", "SET", "masterauth", "*", "timeout", "1"});
  CHECK(shown({"CONFIG", "GET", "requirepass"}) == Shown{"CONFIG", "GET", "requirepass"});
}
