#include "protocol/resp_parser.h"

#include "tests/unit/protocol/resp_trace.h"

#include "tests/doctest.h"

#include <cstdlib>
#include <random>

using namespace holdfast;
using namespace std::string_literals;

namespace {

std::string parse(std::string_view bytes, RequestLimits limits = kRequestLimits) {
  RespTrace trace(limits);
  trace.feed(bytes);
  return trace.text();
}

std::string command(std::initializer_list<std::string> words) {
  std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
  for (const auto& word : words) bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  return bytes;
}

std::string array_of(std::size_t count) {
  std::string bytes = "*" + std::to_string(count) + "\r\n";
  for (std::size_t i = 0; i < count; ++i) bytes += "$1\r\na\r\n";
  return bytes;
}

}  // namespace

TEST_CASE("resp parser: arrays of bulk strings are requests") {
  CHECK(parse(command({"PING"})) == "[PING]\n");
  CHECK(parse(command({"SET", "k\r\n", ""})) == "[SET][k\r\n][]\n");
  CHECK(parse(command({"a"}) + command({"b", "c"})) == "[a]\n[b][c]\n");
  CHECK(parse(command({std::string(1000, 'x')})) == "[" + std::string(1000, 'x') + "]\n");
}

TEST_CASE("resp parser: lines are requests, with quotes as Redis has them") {
  CHECK(parse("PING\r\n") == "[PING]\n");
  CHECK(parse("  a\tb \n") == "[a][b]\n");
  CHECK(parse("SET \"a b\" 'c d'\r\n") == "[SET][a b][c d]\n");
  CHECK(parse(R"("\x41\n\"\\" 'it\'s \n')"
              "\n") == "[A\n\"\\][it's \\n]\n");
  CHECK(parse("a\"b c\" \"\"\n") == "[ab c][]\n");
  CHECK(parse("\"\\x4\"\n") == "[x4]\n");
  for (const auto* bad : {"SET \"a b\r\n", "\"a\"b\n", "'a\n", "'a'b\n", "\"a\\\"\n"}) {
    CHECK(parse(bad) == "Protocol error: unbalanced quotes in request\n");
  }
}

TEST_CASE("resp parser: blank lines and empty arrays are skipped, also between kinds of requests") {
  CHECK(parse("\r\n\n*0\r\n*-1\r\n*-5\r\n" + command({"PING"})) == "[PING]\n");
  CHECK(parse("SET b 2\n\r\n" + command({"ECHO", "\x01\r\n*"}) + "PING\r\n") ==
        "[SET][b][2]\n[ECHO][\x01\r\n*]\n[PING]\n");
}

TEST_CASE("resp parser: the two bytes behind a word are not looked at") {
  CHECK(parse("*2\r\n$4\r\nECHO\r\n$3\r\nabcXX" + command({"PING"})) == "[ECHO][abc]\n[PING]\n");
}

TEST_CASE("resp parser: what is no length is an error") {
  for (const auto* bad : {"*abc\r\n", "*\r\n", "*01\r\n", "*+1\r\n", "* 1\r\n", "*2147483648\r\n", "*1 \r\n"}) {
    CHECK(parse(bad) == "Protocol error: invalid multibulk length\n");
  }
  for (const auto* bad : {"$-1", "$abc", "$", "$01", "$65537", "$9999999999999999999", "$ 1"}) {
    CHECK(parse("*1\r\n"s + bad + "\r\n") == "Protocol error: invalid bulk length\n");
  }
  CHECK(parse("*1\r\n+PING\r\n") == "Protocol error: expected '$', got '+'\n");
}

TEST_CASE("resp parser: a LF alone does not end a header, and a declared length costs nothing") {
  RespTrace lf;
  lf.feed("*1\n$4\nPING\n");
  CHECK(lf.text().empty());
  CHECK(lf.pending() == 11);
  CHECK(parse("*1048577\r\n").empty());
  CHECK(parse("*2\r\n$65536\r\n").empty());
}

TEST_CASE("resp parser: limits strike when what exceeds them begins") {
  CHECK(parse(array_of(1024)).size() == 1024 * 3 + 1);
  CHECK(parse("*1025\r\n" + array_of(1024).substr(7)).empty());
  CHECK(parse("*1025\r\n" + array_of(1024).substr(7) + "$") == "Protocol error: invalid multibulk length\n");
  CHECK(parse(array_of(11), kRequestLimitsBeforeAuth) == "Protocol error: unauthenticated multibulk length\n");
  CHECK(parse("*1\r\n$16385\r\n", kRequestLimitsBeforeAuth) == "Protocol error: unauthenticated bulk length\n");
  const std::string word(64 << 10, 'w');
  CHECK(parse(command({word, word, word, word})).size() == 4 * word.size() + 9);
  CHECK(parse(command({word, word, word, word, "x"})) == "Protocol error: too big request\n");
  CHECK(parse(std::string(4096, 'a') + "\n").size() == 4096 + 3);
  CHECK(parse(std::string(4097, 'a')) == "Protocol error: too big inline request\n");
  CHECK(parse("*" + std::string(5000, '1')) == "Protocol error: too big mbulk count string\n");
  CHECK(parse("*1\r\n$" + std::string(5000, '1')) == "Protocol error: too big bulk count string\n");
}

namespace {

/// Bytes in which everything the parser knows is likely: whole requests, damaged ones, noise.
std::string random_stream(std::mt19937& random) {
  static const std::string kParts[] = {"*1\r\n$4\r\nPING\r\n",
                                       "*2\r\n",
                                       "$3\r\nabc\r\n",
                                       "$0\r\n\r\n",
                                       "$12\r\nhello, world\r\n",
                                       "PING\r\n",
                                       "\r\n",
                                       "\n",
                                       "*0\r\n",
                                       "*-1\r\n",
                                       "\"a b\" 'c'\n",
                                       "\"",
                                       "'",
                                       "\\x41",
                                       "\r",
                                       "*",
                                       "$",
                                       "-1",
                                       "17",
                                       "*3\r\n$7\r\nRESERVE\r\n$4\r\nitem\r\n$1\r\nu\r\n",
                                       "$100\r\n"};
  std::string bytes;
  for (int parts = static_cast<int>(random() % 12); parts >= 0; --parts) {
    if (random() % 8 == 0) bytes += static_cast<char>(random() % 256);
    bytes += kParts[random() % std::size(kParts)];
  }
  if (random() % 4 == 0 && !bytes.empty()) bytes[random() % bytes.size()] = static_cast<char>(random() % 256);
  return bytes;
}

}  // namespace

TEST_CASE("resp parser: the same requests and errors for any bytes in any pieces") {
  const char* given = std::getenv("HOLDFAST_SEED");
  const auto seed = given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : std::random_device()();
  INFO("HOLDFAST_SEED=", seed, " build/release/tests/resp_parser_test");
  std::mt19937 random(seed);
  for (int round = 0; round < 30'000; ++round) {
    const std::string bytes = random_stream(random);
    RespTrace whole, single, pieces;
    whole.feed(bytes);
    for (const char byte : bytes) single.feed({&byte, 1});
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t size = 1 + random() % 9;
      pieces.feed(std::string_view(bytes).substr(at, size));
      at += size;
    }
    REQUIRE(whole.text() == single.text());
    REQUIRE(whole.text() == pieces.text());
    REQUIRE(whole.pending() == single.pending());
  }
}
