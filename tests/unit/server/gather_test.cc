// The plan and the sum of commands that several shards execute. The replies of the steps themselves, gathered, are
// compared with one inventory's in sharded_replay_test.
#include "server/gather.h"

#include "tests/unit/server/step_bench.h"

#include <fmt/format.h>

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::testing;

namespace {

constexpr std::uint16_t kShards = 3;

/// A command under way.
class Asked {
 public:
  explicit Asked(std::string_view line) : texts_(split_words(line)), words_(texts_.begin(), texts_.end()) {
    const CommandEntry& entry = *find_command(words_).value();
    for (const Gather::Part& part : gather_.plan(entry, words_, router_)) {
      plan_ += fmt::format("{}:", part.shard.value());
      for (const std::string_view word : part.words) plan_ += fmt::format(" {}", word);
      plan_ += "\n";
    }
  }
  const std::string& plan() const { return plan_; }
  Gather& gather() { return gather_; }
  /// The reply to these, which come in this order.
  std::string answer(const std::vector<std::pair<std::uint16_t, std::string>>& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const bool last = gather_.add(ShardIndex(parts[i].first), parts[i].second);
      REQUIRE(last == (i + 1 == parts.size()));
    }
    std::string out = "before";
    gather_.take(out);
    return out.substr(6);
  }

 private:
  Router router_{kShards};
  std::vector<std::string> texts_;
  std::vector<std::string_view> words_;
  Gather gather_;
  std::string plan_;
};

/// Keys a0, a1 ... of shard 0, b of shard 1, c of shard 2.
std::string key(char shard, int number = 0) {
  const Router router(kShards);
  for (int i = 0, seen = 0;; ++i) {
    std::string name = fmt::format("i{}", i);
    if (router.owner(ItemName::from_stored(name)).value() != shard - 'a') continue;
    if (seen++ == number) return name + ":stock";
  }
}

}  // namespace

TEST_CASE("gather: each owner gets the command and its own keys, in their order") {
  const std::string a = key('a');
  const std::string a1 = key('a', 1);
  const std::string b = key('b');
  const std::string c = key('c');
  CHECK(Asked("mget " + c + " " + a1 + " " + a).plan() == "0: mget " + a1 + " " + a + "\n2: mget " + c + "\n");
  CHECK(Asked("DEL " + b + " foreign " + b).plan() == "0: DEL foreign\n1: DEL " + b + " " + b + "\n");
  CHECK(Asked("DBSIZE").plan() == "0: DBSIZE\n1: DBSIZE\n2: DBSIZE\n");
  CHECK(Asked("item returns * hold").plan() ==
        "0: item returns * hold\n1: item returns * hold\n2: item returns * hold\n");
}

TEST_CASE("gather: counts add up") {
  const std::string keys = " " + key('a') + " " + key('b') + " " + key('c');
  for (const std::string command : {"EXISTS", "TOUCH", "DEL", "UNLINK"}) {
    CAPTURE(command);
    CHECK(Asked(command + keys).answer({{2, ":1\r\n"}, {0, ":0\r\n"}, {1, ":2\r\n"}}) == ":3\r\n");
  }
  CHECK(Asked("DBSIZE").answer({{0, ":4000000000\r\n"}, {1, ":4000000000\r\n"}, {2, ":0\r\n"}}) == ":8000000000\r\n");
}

TEST_CASE("gather: one OK stands for all") {
  CHECK(Asked("ITEM RETURNS * FREE").answer({{1, "+OK\r\n"}, {0, "+OK\r\n"}, {2, "+OK\r\n"}}) == "+OK\r\n");
}

TEST_CASE("gather: arrays follow one another, the lowest shard's first") {
  const auto verified = [](const std::string& zero, const std::string& one, const std::string& two) {
    return Asked("ITEM VERIFY *").answer({{2, two}, {1, one}, {0, zero}});
  };
  CHECK(verified("*0\r\n", "*0\r\n", "*0\r\n") == "*0\r\n");
  CHECK(verified("*1\r\n*2\r\n$1\r\na\r\n:1\r\n", "*0\r\n", "*2\r\n*0\r\n*0\r\n") ==
        "*3\r\n*2\r\n$1\r\na\r\n:1\r\n*0\r\n*0\r\n");
  CHECK(verified("*1\r\n%1\r\n$1\r\na\r\n:1\r\n", "*0\r\n", "*1\r\n%0\r\n") == "*2\r\n%1\r\n$1\r\na\r\n:1\r\n%0\r\n");
}

TEST_CASE("gather: MGET answers in the order of its keys, in either version of the protocol") {
  const std::string a = key('a');
  const std::string b = key('b');
  const std::string c = key('c');
  const std::string line = "MGET " + c + " " + a + " " + b + " " + a + " foreign " + c;
  CHECK(Asked(line).plan() == fmt::format("0: MGET {} {} foreign\n1: MGET {}\n2: MGET {} {}\n", a, a, b, c, c));
  CHECK(Asked(line).answer(
            {{1, "*1\r\n$-1\r\n"}, {2, "*2\r\n$1\r\n7\r\n$2\r\n42\r\n"}, {0, "*3\r\n$3\r\n100\r\n$-1\r\n$-1\r\n"}}) ==
        "*6\r\n$1\r\n7\r\n$3\r\n100\r\n$-1\r\n$-1\r\n$-1\r\n$2\r\n42\r\n");
  CHECK(Asked(line).answer(
            {{0, "*3\r\n$3\r\n100\r\n_\r\n_\r\n"}, {1, "*1\r\n_\r\n"}, {2, "*2\r\n$1\r\n7\r\n$0\r\n\r\n"}}) ==
        "*6\r\n$1\r\n7\r\n$3\r\n100\r\n_\r\n_\r\n_\r\n$0\r\n\r\n");
}

TEST_CASE("gather: an error is the answer, of several the lowest shard's, whatever came first") {
  CHECK(Asked("DBSIZE").answer({{2, "-ERR two\r\n"}, {1, "-ERR one\r\n"}, {0, ":1\r\n"}}) == "-ERR one\r\n");
  CHECK(Asked("ITEM RETURNS * X").answer({{0, "-ERR x\r\n"}, {1, "-ERR x\r\n"}, {2, "-ERR x\r\n"}}) == "-ERR x\r\n");
  CHECK(Asked("ITEM VERIFY *").answer({{0, "*0\r\n"}, {1, "*0\r\n"}, {2, "-LOADING\r\n"}}) == "-LOADING\r\n");
  const std::string keys = " " + key('a') + " " + key('c');
  CHECK(Asked("MGET" + keys).answer({{2, "-ERR c\r\n"}, {0, "*1\r\n$-1\r\n"}}) == "-ERR c\r\n");
  CHECK(Asked("DEL" + keys).answer({{2, ":1\r\n"}, {0, "-ERR reserved\r\n"}}) == "-ERR reserved\r\n");
}

TEST_CASE("gather: is used again, also with another number of parts") {
  Gather gather;
  for (const std::uint16_t count : std::initializer_list<std::uint16_t>{2, 64, 3}) {
    const Router router(count);
    const std::string_view words[] = {"DBSIZE"};
    const CommandEntry& entry = *find_command(words).value();
    CHECK(gather.plan(entry, words, router).size() == count);
    CHECK(gather.awaited() == count);
    for (std::uint16_t shard = 0; shard < count; ++shard) gather.add(ShardIndex(shard), ":1\r\n");
    std::string out;
    gather.take(out);
    CHECK(out == fmt::format(":{}\r\n", count));
    CHECK(gather.awaited() == 0);
  }
}

TEST_CASE("gather: keeps no more than the words of the request, the shards and their replies") {
  std::string line = "MGET";
  for (int i = 0; i < 1023; ++i) line += fmt::format(" i{}:stock", i);
  Asked asked(line);
  const std::size_t before = asked.gather().memory();
  CHECK(before < 2 * (1024 + kShards) * (sizeof(std::string_view) + sizeof(std::uint16_t)) + 4096);
  asked.gather().add(ShardIndex(1), std::string(100'000, 'x'));
  CHECK(asked.gather().memory() - before < 110'000);
}
