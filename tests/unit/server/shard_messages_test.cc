#include "tests/unit/server/shard_fixture.h"

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::testing;

namespace {

constexpr ConnectionKey kA{1, 1};
constexpr ConnectionKey kB{2, 1};

const CommandEntry& entry(CommandId id) { return command_table()[static_cast<std::size_t>(id)]; }

/// A connection's transactions, as its session sends them.
struct Client {
  PlayedShard& shard;
  ConnectionKey key;
  Transaction transaction{};

  void watch(const std::string& item) {
    const std::string_view words[] = {"WATCH", item};
    if (transaction.watch(words).value()) shard.send(entry(CommandId::watch), transaction.watch_message(), key);
  }
  void exec(const std::vector<std::string>& lines) {
    transaction.begin();
    for (const auto& line : lines) {
      const auto text = split_words(line);
      const std::vector<std::string_view> words(text.begin(), text.end());
      REQUIRE(transaction.queue(*find_command(words).value(), words).has_value());
    }
    shard.send(entry(CommandId::exec), transaction.pack(), key);
    transaction.clear();
  }
};

std::string first_notices(PlayedShard& shard, std::uint64_t& position) {
  const std::string text = std::to_string(position);
  const std::string_view words[] = {"SUBSCRIBE", text};
  shard.send(entry(CommandId::subscribe), words);
  shard.make_durable();
  const std::string bytes = shard.replies();
  NoticePage page(bytes);
  std::string notices;
  for (std::string_view json; page.take(json);) notices.append(json).append("\n");
  position = page.next();
  return notices;
}

}  // namespace

TEST_CASE("shard: of two connections that watch one item the first to EXEC wins") {
  PlayedShard shard;
  shard.ask("ITEM CREATE a STOCK 5");
  Client a{shard, kA};
  Client b{shard, kB};
  a.watch("a");
  b.watch("a");
  CHECK(shard.replies() == "+OK\r\n+OK\r\n");
  a.exec({"RESERVE a 1"});
  b.exec({"RESERVE a 2"});
  shard.make_durable();
  CHECK(shard.replies() == "*1\r\n:4\r\n*-1\r\n");
  b.exec({"RESERVE a 2"});
  shard.make_durable();
  CHECK(shard.replies() == "*1\r\n:3\r\n");
}

TEST_CASE("shard: what a connection watched is nothing to the next one in its place") {
  PlayedShard shard;
  shard.ask("ITEM CREATE a STOCK 5");
  Client a{shard, kA};
  a.watch("a");
  shard.forget(kA);
  Client next{shard, {kA.index, kA.generation + 1}};
  next.watch("a");
  shard.ask("RESERVE a 1", kB);
  next.exec({"PING"});
  shard.make_durable();
  CHECK(shard.replies() == "*-1\r\n");
  Client unforgotten{shard, {kA.index, kA.generation + 2}};
  next.watch("a");
  unforgotten.exec({"PING"});
  CHECK(shard.replies() == "+OK\r\n*1\r\n+PONG\r\n");
}

TEST_CASE("shard: an EXEC's reply leaves as one, when all that it tells is durable, and its records are in one group") {
  PlayedShard shard;
  shard.ask("ITEM CREATE a STOCK 500 LIMIT 0");
  Client a{shard, kA};
  std::vector<std::string> lines(100, "RESERVE a u");
  lines.emplace_back("GET a:stock");
  a.exec(lines);
  CHECK(shard.replies() == "");
  REQUIRE(shard.hand_over());
  CHECK_FALSE(shard.hand_over());
  CHECK(shard.replies() == "");
  shard.commit();
  const std::string reply = shard.replies();
  CHECK(reply.starts_with("*101\r\n:499\r\n:498\r\n"));
  CHECK(reply.ends_with(":400\r\n$3\r\n400\r\n"));
}

TEST_CASE("shard: an item that stops or starts selling is noticed once its group is durable, and only if one listens") {
  PlayedShard shard;
  shard.ask("ITEM CREATE a STOCK 1");
  shard.ask("RESERVE a 1");
  CHECK(shard.notices() == "");
  shard.shard.set_noticing(true);
  shard.send("RELEASE a 1");
  REQUIRE(shard.hand_over());
  CHECK(shard.notices() == "");
  shard.commit();
  CHECK(shard.notices() ==
        "{\"event\":\"reopened\",\"item\":\"a\",\"version\":1,\"sequence\":5,\"state\":\"OPEN\",\"available\":1}\n");
  // Within one group only what it comes to.
  for (const auto* line : {"RESERVE a 1", "RELEASE a 1", "ITEM PAUSE a", "ITEM OPEN a"}) shard.send(line);
  shard.make_durable();
  CHECK(shard.notices() == "");
  shard.ask("RESERVE a 2");
  CHECK(shard.notices() ==
        "{\"event\":\"sold_out\",\"item\":\"a\",\"version\":1,\"sequence\":10,\"state\":\"OPEN\",\"available\":0}\n");
  shard.ask("ITEM PAUSE a");
  CHECK(shard.notices().find("\"event\":\"paused\",") != std::string::npos);
  shard.ask("ITEM CLOSE a");
  CHECK(shard.notices().find("\"event\":\"closed\",") != std::string::npos);
  shard.ask("RELEASE a 2");
  shard.ask("ITEM DROP a");
  CHECK(shard.notices() == "");
  shard.ask("ITEM CREATE \"\\xff%\\\"\" STOCK 7");
  CHECK(shard.notices() ==
        "{\"event\":\"reopened\",\"item\":\"%FF%25\\\"\",\"version\":1,\"sequence\":3,\"state\":"
        "\"OPEN\",\"available\":7}\n");
  shard.ask("ITEM DROP \"\\xff%\\\"\"");
  CHECK(shard.notices().find("\"event\":\"closed\",\"item\":\"%FF%25\\\"\",\"version\":1,\"sequence\":4,\"state\":"
                             "\"DROPPED\"") != std::string::npos);
}

TEST_CASE("shard: what a page of first notices saw in the middle of a group is put right at its end") {
  PlayedShard shard;
  shard.shard.set_noticing(true);
  shard.ask("ITEM CREATE a STOCK 1");
  shard.ask("ITEM CREATE b STOCK 1");
  shard.ask("RESERVE b 1");
  shard.notices();
  shard.send("RESERVE a 1");
  shard.send("RELEASE b 1");
  const std::string_view words[] = {"SUBSCRIBE", "0"};
  shard.send(entry(CommandId::subscribe), words);
  shard.send("RELEASE a 1");
  shard.send("RESERVE b 1");
  shard.make_durable();
  const std::string replies = shard.replies();
  CHECK(replies.find("\"event\":\"sold_out\",\"item\":\"a\"") != std::string::npos);
  CHECK(replies.find("\"item\":\"b\"") == std::string::npos);
  const std::string notices = shard.notices();
  CHECK(notices.find("\"event\":\"reopened\",\"item\":\"a\"") != std::string::npos);
  CHECK(notices.find("\"event\":\"sold_out\",\"item\":\"b\"") != std::string::npos);
}

TEST_CASE("shard: first notices name every item that does not sell, a page at a time") {
  PlayedShard shard;
  for (std::size_t i = 0; i < kNoticePageItems + 10; ++i) {
    shard.send("ITEM CREATE i" + std::to_string(i) + " STOCK " + std::to_string(i % 2));
  }
  shard.send("ITEM LOAD draft VERSION 1 STOCK 5");
  shard.make_durable();
  shard.replies();
  std::uint64_t position = 0;
  const std::string first = first_notices(shard, position);
  CHECK(position == kNoticePageItems);
  CHECK(std::count(first.begin(), first.end(), '\n') == kNoticePageItems / 2);
  const std::string last = first_notices(shard, position);
  CHECK(position == 0);
  CHECK(std::count(last.begin(), last.end(), '\n') == 6);
  CHECK(last.find("{\"event\":\"not_open\",\"item\":\"draft\",") != std::string::npos);
  CHECK(last.find("\"i257\"") == std::string::npos);
}

TEST_CASE("shard: what EXEC executes counts, as each would by itself; what it does not execute counts nothing") {
  PlayedShard shard;
  shard.ask("ITEM CREATE a STOCK 1");
  const auto counts = [&](CommandId id) -> CommandCounts& {
    return shard.stats.commands[static_cast<std::size_t>(id)];
  };
  const auto reserve = [&](ReserveOutcome outcome) {
    return shard.stats.reserve[static_cast<std::size_t>(outcome)].value();
  };
  Client a{shard, kA};
  a.exec({"RESERVE a 1", "RESERVE a 2", "PING", "CONFIRM a 9", "RESERVE a 3 QTY x"});
  CHECK(counts(CommandId::reserve).calls.value() == 3);
  CHECK(counts(CommandId::reserve).failed.value() == 1);
  CHECK(counts(CommandId::ping).calls.value() == 1);
  CHECK(counts(CommandId::confirm).calls.value() == 1);
  CHECK(reserve(ReserveOutcome::taken) == 1);
  CHECK(reserve(ReserveOutcome::sold_out) == 1);
  CHECK(shard.stats.error_replies() == 1);
  CHECK(counts(CommandId::exec).calls.value() == 0);  // the batch counts it
  a.watch("a");
  shard.ask("RELEASE a 1", kB);
  a.exec({"RESERVE a 4"});
  CHECK(counts(CommandId::reserve).calls.value() == 3);
}
