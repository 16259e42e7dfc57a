#include "server/transaction_step.h"

#include "protocol/command_keys.h"
#include "tests/unit/server/step_bench.h"

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::testing;

namespace {

Result<void> queue(Transaction& transaction, const std::vector<std::string>& words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  return transaction.queue(*find_command(views).value(), views);
}

std::string said(const Result<void>& result) { return result ? "" : std::string(result.error().text()); }

}  // namespace

TEST_CASE("transaction: it takes 128 commands and 256 KiB, views of the words included") {
  Transaction many;
  many.begin();
  for (std::size_t i = 0; i < kTransactionCommandsMax; ++i) REQUIRE(queue(many, {"GET", "{a}:stock"}).has_value());
  CHECK(said(queue(many, {"GET", "{a}:stock"})) == "a transaction has at most 128 commands");
  CHECK(many.is_aborted());
  Transaction large;
  large.begin();
  for (int i = 0; i < 3; ++i) REQUIRE(queue(large, {"ECHO", std::string(64_KiB, 'x')}).has_value());
  CHECK(
      said(queue(large, {"ECHO", std::string(64_KiB, 'x')})).starts_with("the commands of a transaction have at most"));
  Transaction words;
  words.begin();
  std::vector<std::string> keys(1000, "");
  keys[0] = "EXISTS";
  int taken = 0;
  while (queue(words, keys)) ++taken;
  CHECK(taken == 16);
  words.clear();
  CHECK_FALSE(words.is_open());
  CHECK(words.count() == 0);
  CHECK(words.bytes() == 0);
  // What was large is given back.
  large.clear();
  CHECK(large.memory() < 32_KiB);
  CHECK(words.memory() < 32_KiB);
}

TEST_CASE("transaction: what it packs is what is run, whatever the bytes") {
  StepBench bench;
  CHECK(bench.ask("MULTI") == "OK");
  for (int i = 0; i < 100; ++i)
    CHECK(bench.ask("ECHO \"\\x00" + std::string(static_cast<std::size_t>(i), 'y') + "\"") == "QUEUED");
  const ReplyValue reply = bench.run("EXEC");
  REQUIRE(reply.items.size() == 100);
  for (std::size_t i = 0; i < 100; ++i) CHECK(reply.items[i].text == std::string(1, '\0') + std::string(i, 'y'));
}

TEST_CASE("transaction: its reply rests on the newest group that any of its commands tells of") {
  StepBench bench;
  bench.open_group();
  bench.run("ITEM CREATE {s}a STOCK 5 SCOPE sale LIMIT 0");
  bench.run("ITEM CREATE {s}b STOCK 5 SCOPE sale LIMIT 0");
  bench.make_durable();
  bench.open_group();
  for (const auto* line : {"MULTI", "GET {s}a:stock", "EXEC"}) bench.run(line);
  CHECK(bench.last_result().rests_on == GroupOrdinal());
  bench.run("RESERVE {s}b 1");
  for (const auto* line : {"MULTI", "GET {s}a:stock", "EXEC"}) bench.run(line);
  CHECK(bench.last_result().rests_on == GroupOrdinal());
  // A RESERVE counts what the user has of the whole sale.
  for (const auto* line : {"MULTI", "GET {s}a:stock", "RESERVE {s}a 1 QTY 6", "PING", "EXEC"}) bench.run(line);
  CHECK(bench.last_result().rests_on == GroupOrdinal(2));
}

TEST_CASE("transaction: EXEC's null tells that the item has changed, and rests on that change") {
  StepBench bench;
  bench.open_group();
  bench.run("ITEM CREATE a STOCK 5");
  bench.make_durable();
  bench.open_group();
  for (const auto* line : {"WATCH a", "RESERVE a 1", "MULTI"}) bench.run(line);
  CHECK(bench.ask("EXEC") == "nil");
  CHECK(bench.last_result().rests_on == GroupOrdinal(2));
}

TEST_CASE("transaction: more expiry than one command may do is told before anything of it is done") {
  StepBench bench;
  bench.run("ITEM CREATE a STOCK 5000 LIMIT 0");
  for (int i = 0; i < 4500; ++i) bench.run("RESERVE a u TTL 1");
  bench.pass(Millis(10));
  for (const auto* left : {"2500", "4500"}) {
    for (const auto* line : {"MULTI", "ITEM PAUSE a"}) bench.run(line);
    CHECK(bench.ask("EXEC") == "-ERR expiring, try again");
    CHECK(bench.ask("GET a:stock") == quoted(left));
    CHECK(bench.run("ITEM GET a").at("state").text == "OPEN");
  }
  for (const auto* line : {"MULTI", "ITEM PAUSE a"}) bench.run(line);
  CHECK(bench.ask("EXEC") == "[OK]");
}

TEST_CASE("transaction: a command that would break the law fences the item, and those behind it are told so") {
  StepBench bench;
  bench.run("ITEM CREATE a STOCK 5 LIMIT 0");
  bench.set_broken(true);
  InventoryAccess::break_available(bench.inventory(), "a", 1);
  for (const auto* line : {"MULTI", "GET a:stock", "RESERVE a 1", "RESERVE a 2", "PING"}) bench.run(line);
  CHECK(bench.ask("EXEC") == "[\"6\" -FENCED a 4 -FENCED a 4 PONG]");
}

TEST_CASE("command_keys: keys stand where the table and its syntax say") {
  const auto keys = [](const std::vector<std::string>& words) {
    const std::vector<std::string_view> views(words.begin(), words.end());
    std::string text;
    for (const auto key : keys_of(*find_command(views).value(), views).value()) text.append(key).append(" ");
    return text;
  };
  CHECK(keys({"RESERVE", "a", "b"}) == "a ");
  CHECK(keys({"ITEM", "GET", "a"}) == "a ");
  CHECK(keys({"DEL", "a", "b", "c"}) == "a b c ");
  CHECK(keys({"MSET", "a", "1", "b", "2"}) == "a b ");
  CHECK(keys({"EVAL", "x", "2", "a", "b", "c"}) == "a b ");
  CHECK(keys({"EVALSHA", "x", "0"}) == "");
  CHECK(keys({"WATCH", "a", "b"}) == "a b ");
  CHECK(keys({"PING"}) == "");
  const std::vector<std::string_view> words = {"EVAL", "x", "3", "a"};
  CHECK_FALSE(keys_of(*find_command(words).value(), words).has_value());
}
