#include "server/item_notice.h"
#include "tests/unit/server/session_fixture.h"

#include "tests/doctest.h"

using namespace holdfast;

namespace {

/// Two connections that hear of each other.
struct Pair {
  Pair() : other(host, {8, 1}) { host.sessions = {&client.session, &other.session}; }
  PlayedHost host;
  PlayedSession client{host};
  PlayedSession other;
};

std::string bulk(const std::string& text) { return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n"; }
std::string message(char type, const std::string& channel, const std::string& text) {
  return std::string(1, type) + "3\r\n" + bulk("message") + bulk(channel) + bulk(text);
}

std::string page(std::uint64_t next, std::initializer_list<std::string> texts) {
  std::string bytes = NoticePage::begin();
  for (const auto& text : texts) NoticePage::add(bytes, text);
  NoticePage::set_next(bytes, next);
  return bytes;
}

}  // namespace

TEST_CASE("session: EXEC goes to the owner as one message, and its reply keeps its place") {
  PlayedHost host;
  PlayedSession client(host);
  CHECK(client.ask({"MULTI"}) == "+OK\r\n");
  CHECK(client.ask({"RESERVE", "{a}", "1"}) == "+QUEUED\r\n");
  CHECK(client.ask({"CLIENT", "INFO"}).find("Command not allowed inside a transaction") != std::string::npos);
  CHECK(client.ask({"EXEC"}) == "-EXECABORT Transaction discarded because of previous errors.\r\n");
  CHECK(client.session.facts(WallTime{}).queued == -1);
  CHECK(host.forwarded.empty());
  client.send(request({"MULTI"}) + request({"RESERVE", "{a}", "1"}) + request({"EXEC"}) + request({"PING"}));
  REQUIRE(host.forwarded.size() == 1);
  CHECK(host.forwarded[0].id == CommandId::exec);
  CHECK(host.forwarded[0].words.at(1) == "a");
  CHECK(host.forwarded[0].words.back() == "1");
  client.session.answer(host.forwarded[0].address.slot, "*1\r\n:7\r\n");
  CHECK(client.take() == "*1\r\n:7\r\n+PONG\r\n");
  CHECK(client.ask({"EXEC"}) == "-ERR EXEC without MULTI\r\n");
}

TEST_CASE("session: WATCH tells the owner once, and binds what is queued behind it") {
  PlayedHost host;
  PlayedSession client(host);
  client.ask({"WATCH", "{a}:stock", "a"});
  REQUIRE(host.forwarded.size() == 1);
  CHECK(host.forwarded[0].words == std::vector<std::string>{"WATCH", "a"});
  CHECK(client.session.waits());
  client.session.answer(host.forwarded[0].address.slot, "+OK\r\n");
  CHECK(client.take() == "+OK\r\n");
  CHECK(client.ask({"WATCH", "a"}) == "+OK\r\n");
  CHECK(client.ask({"WATCH", "b"}).starts_with("-CROSSSLOT "));
  CHECK(client.ask({"MULTI"}) == "+OK\r\n");
  CHECK(client.ask({"GET", "{b}:stock"}).starts_with("-CROSSSLOT "));
  CHECK(client.ask({"DISCARD"}) == "+OK\r\n");
  CHECK(client.ask({"MULTI"}) == "+OK\r\n");
  CHECK(client.ask({"GET", "{b}:stock"}) == "+QUEUED\r\n");
  CHECK(client.ask({"RESET"}) == "+RESET\r\n");
  CHECK(client.ask({"EXEC"}) == "-ERR EXEC without MULTI\r\n");
  CHECK(host.forwarded.size() == 1);
}

TEST_CASE("session: while the log is loading a transaction ends as an error") {
  PlayedHost host;
  host.server.loading = true;
  PlayedSession client(host);
  CHECK(client.ask({"WATCH", "a"}).starts_with("-LOADING "));
  CHECK(client.ask({"MULTI"}) == "+OK\r\n");
  CHECK(client.ask({"GET", "{a}:stock"}).starts_with("-LOADING "));
  CHECK(client.ask({"EXEC"}).starts_with("-LOADING "));
  CHECK(client.ask({"EXEC"}).starts_with("-LOADING "));
  host.server.loading = false;
  CHECK(client.ask({"EXEC"}) == "-ERR EXEC without MULTI\r\n");
}

TEST_CASE("session: in RESP2 messages come behind the replies before them, never within") {
  Pair pair;
  pair.client.send(request({"RESERVE", "a", "1"}) + request({"SUBSCRIBE", "c"}));
  CHECK(pair.other.ask({"PUBLISH", "c", "m"}) == ":1\r\n");
  CHECK(pair.client.take() == "");
  pair.client.session.answer(pair.host.forwarded.at(0).address.slot, ":1\r\n");
  CHECK(pair.client.take() == ":1\r\n*3\r\n" + bulk("subscribe") + bulk("c") + ":1\r\n" + message('*', "c", "m"));
  CHECK(pair.client.ask({"GET", "x"}).starts_with("-ERR Can't execute 'get': only (P|S)SUBSCRIBE"));
  CHECK(pair.client.ask({"UNSUBSCRIBE"}) == "*3\r\n" + bulk("unsubscribe") + bulk("c") + ":0\r\n");
  CHECK(pair.other.ask({"PUBLISH", "c", "m"}) == ":0\r\n");
}

TEST_CASE("session: in RESP3 messages do not wait for replies, but for what was subscribed to before them") {
  Pair pair;
  pair.client.ask({"HELLO", "3"});
  pair.client.send(request({"RESERVE", "a", "1"}) + request({"SUBSCRIBE", "c"}));
  pair.other.ask({"PUBLISH", "c", "early"});
  CHECK(pair.client.take() == "");
  pair.client.session.answer(pair.host.forwarded.at(0).address.slot, ":1\r\n");
  CHECK(pair.client.take() == ":1\r\n>3\r\n" + bulk("subscribe") + bulk("c") + ":1\r\n" + message('>', "c", "early"));
  pair.client.ask({"RESERVATION", "WAIT", "a", "ID", "x", "STAGE", "durable", "TIMEOUT", "9"});
  pair.other.ask({"PUBLISH", "c", "late"});
  CHECK(pair.client.take() == message('>', "c", "late"));
}

TEST_CASE("session: who publishes to itself gets the reply and then the message") {
  Pair pair;
  pair.client.ask({"HELLO", "3"});
  pair.client.ask({"SUBSCRIBE", "c"});
  pair.client.ask({"PSUBSCRIBE", "?"});
  CHECK(pair.client.send(request({"PUBLISH", "c", "m"}) + request({"UNSUBSCRIBE", "c"})) ==
        ":2\r\n" + message('>', "c", "m") + ">4\r\n" + bulk("pmessage") + bulk("?") + bulk("c") + bulk("m") + ">3\r\n" +
            bulk("unsubscribe") + bulk("c") + ":1\r\n");
}

TEST_CASE("session: subscriptions, names and what waits for a subscriber have limits") {
  Pair pair;
  CHECK(
      pair.client.ask({"SUBSCRIBE", std::string(kChannelBytesMax + 1, 'c')}).starts_with("-ERR a channel has at most"));
  CHECK(pair.client.ask({"PSUBSCRIBE", std::string(kPatternBytesMax + 1, 'c')}).starts_with("-ERR a pattern has at"));
  for (std::size_t i = 0; i < kSubscriptionsMax; ++i) {
    REQUIRE(pair.client.ask({"SUBSCRIBE", "c" + std::to_string(i)}).starts_with("*3\r\n"));
  }
  CHECK(pair.client.ask({"SUBSCRIBE", "more"}).starts_with("-ERR a connection has at most 1024 subscriptions"));
  for (std::size_t i = 0; i < kConnectionPatternsMax; ++i) {
    REQUIRE(pair.other.ask({"PSUBSCRIBE", "p" + std::to_string(i)}).starts_with("*3\r\n"));
  }
  CHECK(pair.other.ask({"PSUBSCRIBE", "more"}).starts_with("-ERR a connection has at most 64 patterns"));
  pair.other.ask({"PUNSUBSCRIBE"});
  const std::string large(64_KiB, 'x');
  int sent = 0;
  for (; !pair.client.session.overflowed() && sent < 1000; ++sent) pair.other.ask({"PUBLISH", "c0", large});
  CHECK(pair.client.session.overflowed());
  CHECK(pair.client.session.output_bytes() <= kSubscriberBytesMax);
  CHECK(sent == kSubscriberBytesMax / 64_KiB);
  pair.client.session.leave_channels();
  CHECK(pair.host.pubsub().count(ChannelKind::channel) == 0);
  CHECK(pair.other.ask({"PUBLISH", "holdfast:items", "m"}).starts_with("-ERR holdfast:items carries"));
}

TEST_CASE("session: what a user may not do aborts a transaction, and items are told to readers only") {
  PlayedHost host;
  User user;
  user.name = "shop";
  user.secrets = {digest_secret("x")};
  user.roles = kOpenRoles | role_bit(Role::any) | role_bit(Role::buyer);
  host.known.add(user);
  PlayedSession client(host);
  REQUIRE(client.ask({"AUTH", "shop", "x"}) == "+OK\r\n");
  CHECK(client.ask({"MULTI"}) == "+OK\r\n");
  CHECK(client.ask({"GET", "{a}:stock"}).starts_with("-NOPERM "));
  CHECK(client.ask({"EXEC"}).starts_with("-EXECABORT "));
  CHECK(client.ask({"SUBSCRIBE", "holdfast:items"}).starts_with("-NOPERM "));
  CHECK(client.ask({"PSUBSCRIBE", "h*"}).starts_with("-NOPERM "));
  CHECK(client.ask({"SUBSCRIBE", "c"}).starts_with("*3\r\n"));
}

TEST_CASE("session: first notices are read page by page, as the socket takes them") {
  PlayedHost host;
  PlayedSession client(host);
  client.ask({"PSUBSCRIBE", "holdfast:*"});
  CHECK(host.pubsub().wants_items());
  REQUIRE(client.session.wants_notices());
  client.session.ask_notices();
  CHECK_FALSE(client.session.wants_notices());
  REQUIRE(host.forwarded.size() == 1);
  CHECK(host.forwarded[0].words == std::vector<std::string>{"SUBSCRIBE", "0"});
  const std::string large(kNoticeRoomBytes, 'j');
  client.session.answer(host.forwarded[0].address.slot, page(256, {large}));
  CHECK_FALSE(client.session.wants_notices());
  CHECK(client.take().starts_with("*4\r\n" + bulk("pmessage") + bulk("holdfast:*") + bulk("holdfast:items")));
  REQUIRE(client.session.wants_notices());
  client.session.ask_notices();
  CHECK(host.forwarded.at(1).words == std::vector<std::string>{"SUBSCRIBE", "256"});
  client.session.answer(host.forwarded[1].address.slot, page(0, {}));
  CHECK(client.take() == "");
  CHECK_FALSE(client.session.reads_notices());
  // What comes for a subscription that is gone is dropped.
  client.ask({"SUBSCRIBE", "holdfast:items"});
  client.session.ask_notices();
  client.ask({"UNSUBSCRIBE"});
  client.session.answer(host.forwarded.at(2).address.slot, page(0, {"{}"}));
  CHECK(client.take() == "*3\r\n" + bulk("unsubscribe") + bulk("holdfast:items") + ":1\r\n");
  client.ask({"PUNSUBSCRIBE"});
  CHECK_FALSE(host.pubsub().wants_items());
}

TEST_CASE("session: scripts are refused in a line, and never known") {
  PlayedHost host;
  PlayedSession client(host);
  for (const auto* body : {"return 1", "local a =\n"}) {
    CHECK(client.ask({"EVAL", body, "0"}).starts_with("-ERR Holdfast runs no scripts; "));
    CHECK(client.ask({"SCRIPT", "LOAD", body}).starts_with("-ERR Holdfast runs no scripts; "));
  }
  CHECK(client.ask({"EVALSHA", "abc", "0"}) == "-NOSCRIPT No matching script. Please use EVAL.\r\n");
  CHECK(client.ask({"SCRIPT", "EXISTS", "a", "b"}) == "*2\r\n:0\r\n:0\r\n");
  CHECK(client.ask({"SCRIPT", "FLUSH", "SYNC"}) == "+OK\r\n");
  CHECK(client.ask({"SCRIPT", "FLUSH", "NOW"}) == "-ERR SCRIPT FLUSH only support SYNC|ASYNC option\r\n");
  CHECK(client.ask({"SCRIPT", "KILL"}) == "-NOTBUSY No scripts in execution right now.\r\n");
  CHECK(client.ask({"KEYS", "*"}).starts_with("-ERR KEYS is not supported"));
  CHECK(client.ask({"FLUSHALL"}).starts_with("-ERR items are not dropped all at once"));
  CHECK(client.ask({"LOLWUT"}).find("Redis ver. 7.2.") != std::string::npos);
}
