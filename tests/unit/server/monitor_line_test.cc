#include "server/monitor_line.h"

#include "tests/doctest.h"

using namespace holdfast;

namespace {

std::string shown(std::vector<std::string_view> words) {
  const auto entry = find_command(words);
  REQUIRE(entry.has_value());
  const std::string line = monitor_line(std::chrono::microseconds(1'700'000'000'000'456), "1.2.3.4:5", **entry, words);
  constexpr std::string_view kBegin = "+1700000000.000456 [0 1.2.3.4:5] ";
  REQUIRE(line.starts_with(kBegin));
  REQUIRE(line.ends_with("\r\n"));
  return line.substr(kBegin.size(), line.size() - kBegin.size() - 2);
}

}  // namespace

TEST_CASE("monitor_line: bytes are shown as Redis shows them") {
  CHECK(shown({"GET", "a\"b\\"}) == R"("GET" "a\"b\\")");
  CHECK(shown({"echo", std::string_view("\0\n\r\t\a\b\xff x", 9)}) == R"("echo" "\x00\n\r\t\a\b\xff x")");
}

TEST_CASE("monitor_line: passwords and tokens are left out") {
  CHECK(shown({"auth", "x"}) == R"x("auth" "(redacted)")x");
  CHECK(shown({"AUTH", "user", "x"}) == R"x("AUTH" "(redacted)" "(redacted)")x");
  CHECK(shown({"HELLO", "3", "auth", "user", "x", "SETNAME", "n"}) ==
        R"x("HELLO" "3" "auth" "(redacted)" "(redacted)" "SETNAME" "n")x");
  CHECK(shown({"RESERVE", "TOKEN", "u", "token", "x", "QTY", "2"}) ==
        R"x("RESERVE" "TOKEN" "u" "token" "(redacted)" "QTY" "2")x");
}

TEST_CASE("monitor_line: of CONFIG SET what may be a password is left out") {
  CHECK(shown({"config", "set", "timeout", "1", "requirepass", "x"}) ==
        R"x("config" "set" "timeout" "1" "requirepass" "(redacted)")x");
}
