#include "tools/reply.h"

#include "tests/doctest.h"

using namespace holdfast;

namespace {

Reply parse(std::string_view bytes) {
  const auto parsed = parse_reply(bytes);
  REQUIRE(parsed.has_value());
  REQUIRE(parsed->has_value());
  CHECK((*parsed)->bytes == bytes.size());
  return (*parsed)->reply;
}

std::string json(std::string_view bytes) { return reply_to_json(parse(bytes)); }

}  // namespace

TEST_CASE("reply: values of both protocols as JSON") {
  CHECK(json(":-3\r\n") == "-3");
  CHECK(json("+OK\r\n") == "\"OK\"");
  CHECK(json("-ERR no\r\n") == R"({"error":"ERR no"})");
  CHECK(json("$-1\r\n") == "null");
  CHECK(json("_\r\n") == "null");
  CHECK(json("#t\r\n") == "true");
  CHECK(json("*2\r\n$1\r\na\r\n*0\r\n") == R"(["a",[]])");
  CHECK(json("%1\r\n+k\r\n:1\r\n") == R"({"k":1})");
  CHECK(json("=6\r\ntxt:ab\r\n") == "\"ab\"");
  CHECK(json("$5\r\n\"\\\n\xc3\xa9\r\n") == "\"\\\"\\\\\\u000a\xc3\xa9\"");
  CHECK(json("$2\r\n\xff\x7f\r\n") == R"("\u00ff\u007f")");
}

TEST_CASE("reply: what is not whole waits, what is no reply is an error") {
  const std::string_view whole = "%1\r\n$1\r\nk\r\n*2\r\n:1\r\n$2\r\nab\r\n";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto parsed = parse_reply(whole.substr(0, size));
    REQUIRE(parsed.has_value());
    CHECK_FALSE(parsed->has_value());
  }
  for (const auto* bad : {"?\r\n", ":x\r\n", "$-2\r\n", "*-2\r\n", "\r\n"}) CHECK(parse_reply(bad).has_error());
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "*1\r\n";
  CHECK(parse_reply(deep).has_error());
}

TEST_CASE("reply: people read lists and maps line by line") {
  CHECK(show_reply(parse("%2\r\n$1\r\na\r\n:1\r\n$1\r\nb\r\n*2\r\n$1\r\nx\r\n_\r\n")) ==
        "a: 1\nb: 1) \"x\"\n   2) (nil)\n");
  CHECK(show_reply(parse("*0\r\n")) == "(empty)\n");
  const Reply map = parse("*4\r\n$1\r\na\r\n:1\r\n$1\r\nb\r\n:2\r\n");
  REQUIRE(map.find("b") != nullptr);
  CHECK(map.find("b")->integer == 2);
  CHECK(map.find("c") == nullptr);
}
