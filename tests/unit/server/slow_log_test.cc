#include "server/slow_log.h"

#include "tests/doctest.h"

using namespace holdfast;

namespace {

std::vector<std::string> clipped(std::vector<std::string_view> words, std::size_t more = 0) {
  ClippedWords clip;
  clip.assign(**find_command(words), words);
  clip.add_batch(more);
  return clip.take();
}

}  // namespace

TEST_CASE("slow log: words are cut as in Redis") {
  const std::string text(130, 'x');
  CHECK(clipped({"ECHO", text})[1] == std::string(128, 'x') + "... (2 more bytes)");
  CHECK(clipped({"ECHO", std::string_view(text).substr(2)})[1] == std::string(128, 'x'));
  std::vector<std::string_view> many(33, "a:stock");
  many[0] = "DEL";
  const auto words = clipped(many);
  CHECK(words.size() == 32);
  CHECK(words[31] == "... (2 more arguments)");
  many.pop_back();
  CHECK(clipped(many).size() == 32);
  CHECK(clipped(many)[31] == "a:stock");
}

TEST_CASE("slow log: secrets are never kept") {
  CHECK(clipped({"auth", "swordfish"}) == std::vector<std::string>{"auth", "(redacted)"});
  CHECK(clipped({"AUTH", "me", "swordfish"})[2] == "(redacted)");
  const auto hello = clipped({"HELLO", "3", "auth", "me", "swordfish", "SETNAME", "n"});
  CHECK(hello == std::vector<std::string>{"HELLO", "3", "auth", "(redacted)", "(redacted)", "SETNAME", "n"});
  const auto reserve = clipped({"RESERVE", "TOKEN", "u", "QTY", "1", "token", "swordfish"});
  CHECK(reserve == std::vector<std::string>{"RESERVE", "TOKEN", "u", "QTY", "1", "token", "(redacted)"});
}

TEST_CASE("slow log: an entry that stands for a batch says so") {
  CHECK(clipped({"PING"}, 3) == std::vector<std::string>{"PING", "... (time of a batch with 3 more commands)"});
  CHECK(clipped({"PING"}, 0).size() == 1);
}

TEST_CASE("slow log: the newest entries are kept, ids go on") {
  SlowLog log;
  for (int i = 0; i < 5; ++i) log.add({}, 3);
  REQUIRE(log.entries().size() == 3);
  CHECK(log.entries().front().id == 4);
  log.reset();
  CHECK(log.entries().empty());
  log.add({}, 3);
  CHECK(log.entries().front().id == 5);
  log.add({}, 0);
  CHECK(log.entries().empty());
}
