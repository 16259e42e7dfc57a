#include "tests/unit/server/session_fixture.h"

#include "tests/doctest.h"

using namespace holdfast;

TEST_CASE("session: replies leave in request order, whoever answers first") {
  PlayedHost host;
  PlayedSession client(host);
  CHECK(client.send(request({"RESERVE", "a", "1"}) + request({"PING"}) + request({"RESERVE", "b", "1"}) +
                    request({"ECHO", "x"})) == "");
  REQUIRE(host.forwarded.size() == 2);
  CHECK(host.forwarded[0].words == std::vector<std::string>{"RESERVE", "a", "1"});
  client.session.answer(host.forwarded[1].address.slot, ":8\r\n");
  CHECK(client.take() == "");
  client.session.answer(host.forwarded[0].address.slot, ":9\r\n");
  CHECK(client.take() == ":9\r\n+PONG\r\n:8\r\n$1\r\nx\r\n");
  CHECK(client.session.unanswered() == 0);
}

TEST_CASE("session: a command knows its connection and the protocol it was asked in") {
  PlayedHost host;
  PlayedSession client(host);
  client.ask({"GET", "k"});
  client.ask({"HELLO", "3"});
  client.ask({"GET", "k"});
  REQUIRE(host.forwarded.size() == 2);
  CHECK(host.forwarded[0].version == RespVersion::resp2);
  CHECK(host.forwarded[1].version == RespVersion::resp3);
  CHECK(host.forwarded[1].address.connection == ConnectionKey{7, 3});
}

TEST_CASE("session: HELLO switches the protocol and tells it in it") {
  PlayedHost host;
  PlayedSession client(host);
  CHECK(client.ask({"HELLO", "3", "SETNAME", "n"}).starts_with("%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n"));
  CHECK(client.ask({"CLIENT", "GETNAME"}) == "$1\r\nn\r\n");
  CHECK(client.ask({"HELLO"}).starts_with("%7\r\n"));
  CHECK(client.ask({"HELLO", "4"}) == "-NOPROTO unsupported protocol version\r\n");
  CHECK(client.ask({"HELLO", "x"}) == "-ERR Protocol version is not an integer or out of range\r\n");
  CHECK(client.ask({"HELLO", "2", "FOO"}) == "-ERR Syntax error in HELLO option 'FOO'\r\n");
  CHECK(client.ask({"HELLO", "2", "AUTH", "x"}) == "-ERR Syntax error in HELLO option 'AUTH'\r\n");
  CHECK(client.ask({"CLIENT", "GETNAME"}) == "$1\r\nn\r\n");
  CHECK(client.ask({"RESET"}) == "+RESET\r\n");
  CHECK(client.ask({"CLIENT", "GETNAME"}) == "$-1\r\n");
  CHECK(client.ask({"HELLO", "2"}).starts_with("*14\r\n"));
}

TEST_CASE("session: without users AUTH answers as Redis does without a password") {
  PlayedHost host;
  PlayedSession client(host);
  CHECK(client.ask({"AUTH", "x"}).starts_with("-ERR AUTH <password> called without any password configured"));
  CHECK(client.ask({"AUTH", "default", "x"}) == "+OK\r\n");
  CHECK(client.ask({"AUTH", "somebody", "x"}) == "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
  CHECK(client.ask({"AUTH", "a", "b", "c"}) == "-ERR syntax error\r\n");
}

TEST_CASE("session: CLIENT REPLY leaves out replies, also those that come later") {
  PlayedHost host;
  PlayedSession client(host);
  CHECK(client.send(request({"CLIENT", "REPLY", "SKIP"}) + request({"RESERVE", "a", "1"}) + request({"PING"})) == "");
  client.session.answer(host.forwarded.at(0).address.slot, ":1\r\n");
  CHECK(client.take() == "+PONG\r\n");
  CHECK(client.send(request({"CLIENT", "REPLY", "OFF"}) + request({"PING"}) + request({"NOSUCH"})) == "");
  CHECK(client.ask({"CLIENT", "REPLY", "ON"}) == "+OK\r\n");
  CHECK(client.ask({"CLIENT", "REPLY", "MAYBE"}) == "-ERR syntax error\r\n");
}

TEST_CASE("session: QUIT and protocol errors end it behind the replies before them") {
  PlayedHost host;
  PlayedSession quits(host);
  CHECK(quits.send(request({"RESERVE", "a", "1"}) + request({"QUIT"}) + request({"PING"})) == "");
  CHECK(quits.session.closing());
  CHECK_FALSE(quits.session.finished());
  quits.session.answer(host.forwarded.at(0).address.slot, ":1\r\n");
  CHECK(quits.take() == ":1\r\n+OK\r\n");
  CHECK(quits.session.finished());
  PlayedSession errs(host);
  CHECK(errs.send(request({"PING"}) + "*x\r\n" + request({"PING"})) ==
        "+PONG\r\n-ERR Protocol error: invalid multibulk length\r\n");
  CHECK(errs.session.finished());
  PlayedSession browser(host);
  CHECK(browser.send("POST / HTTP/1.1\r\nHost: x\r\n\r\n") == "");
  CHECK(browser.session.finished());
}

TEST_CASE("session: while the log is loading, items and PING are -LOADING, the rest works") {
  PlayedHost host;
  host.server.loading = true;
  PlayedSession client(host);
  for (const auto* name : {"PING", "DBSIZE"}) CHECK(client.ask({name}).starts_with("-LOADING "));
  CHECK(client.ask({"RESERVE", "a", "1"}).starts_with("-LOADING "));
  CHECK(client.ask({"HELLO", "3"}).starts_with("%7"));
  CHECK(client.ask({"INFO", "persistence"}).find("loading:1\r\n") != std::string::npos);
  CHECK(host.forwarded.empty());
}

TEST_CASE("session: it stops at 1,024 unanswered commands, at 256 a turn and without credit") {
  PlayedHost host;
  PlayedSession client(host);
  std::string many;
  for (int i = 0; i < 2000; ++i) many += request({"RESERVE", "a", "1"});
  client.send(many);
  CHECK(host.forwarded.size() == kTurnCommandsMax);
  for (int turn = 0; turn < 10; ++turn) client.send("");
  CHECK(host.forwarded.size() == kUnansweredMax);
  CHECK_FALSE(client.session.wants_input());
  client.session.answer(host.forwarded[0].address.slot, ":1\r\n");
  CHECK(client.session.wants_input());
  host.credit = false;
  client.send("");
  CHECK(host.forwarded.size() == kUnansweredMax);
  host.credit = true;
  client.send("");
  CHECK(host.forwarded.size() == kUnansweredMax + 1);
}

TEST_CASE("session: nothing is executed while 1 MiB of replies waits, or while a large reply is on its way") {
  PlayedHost host;
  PlayedSession client(host);
  client.ask({"SMEMBERS", "{a}:buyers"});
  client.ask({"PING"});
  CHECK(client.unread() > 0);
  client.session.answer(host.forwarded.at(0).address.slot,
                        "*1\r\n$" + std::to_string(2 << 20) + "\r\n" + std::string(2 << 20, 'x') + "\r\n");
  Session::Turn turn;
  CHECK(client.session.receive(request({"PING"}), turn) == 0);
  client.take();
  CHECK(client.send("") == "+PONG\r\n");
}

TEST_CASE("session: a command on keys of several shards is one reply, in its place") {
  PlayedHost host(3);
  PlayedSession client(host);
  // Of the first 16,384 slots, "b" is in the first third, "c" in the second, "a" and "d" in the last.
  CHECK(client.send(request({"MGET", "{a}:stock", "{b}:stock", "{d}:stock"}) + request({"PING"})).empty());
  REQUIRE(host.forwarded.size() == 2);
  CHECK(host.forwarded[0].shard == ShardIndex(0));
  CHECK(host.forwarded[0].words == std::vector<std::string>{"MGET", "{b}:stock"});
  CHECK_FALSE(host.forwarded[0].further);
  CHECK(host.forwarded[1].shard == ShardIndex(2));
  CHECK(host.forwarded[1].words == std::vector<std::string>{"MGET", "{a}:stock", "{d}:stock"});
  CHECK(host.forwarded[1].further);
  client.session.answer_from(ShardIndex(2), host.forwarded[1].address.slot, "*2\r\n$1\r\n1\r\n$1\r\n4\r\n");
  CHECK(client.take().empty());
  client.session.answer_from(ShardIndex(0), host.forwarded[0].address.slot, "*1\r\n$-1\r\n");
  CHECK(client.take() == "*3\r\n$1\r\n1\r\n$-1\r\n$1\r\n4\r\n+PONG\r\n");
}

TEST_CASE("session: errors carry Redis's words") {
  PlayedHost host;
  PlayedSession client(host);
  CHECK(client.ask({"FOO", "bar", "baz"}) == "-ERR unknown command 'FOO', with args beginning with: 'bar' 'baz' \r\n");
  CHECK(client.ask({"GET"}) == "-ERR wrong number of arguments for 'get' command\r\n");
  CHECK(client.ask({"CLIENT", "SETNAME"}) == "-ERR wrong number of arguments for 'client|setname' command\r\n");
  CHECK(client.ask({"CLIENT", "FOO"}) == "-ERR unknown subcommand 'FOO'. Try CLIENT HELP.\r\n");
  CHECK(client.ask({"COMMAND", "FOO"}) == "-ERR unknown subcommand 'FOO'. Try COMMAND HELP.\r\n");
  CHECK(client.ask({"SELECT", "1"}) == "-ERR DB index is out of range\r\n");
  CHECK(client.ask({"SELECT", "x"}) == "-ERR value is not an integer or out of range\r\n");
  CHECK(client.ask({"CLUSTER", "NODES"}) == "-ERR This instance has cluster support disabled\r\n");
  CHECK(client.ask({"CLIENT", "TRACKING", "ON"}).starts_with("-ERR CLIENT TRACKING is not supported"));
  CHECK(client.ask({"CLIENT", "SETINFO", "foo", "x"}) == "-ERR Unrecognized option 'foo'\r\n");
  CHECK(host.telemetry().stats.error_replies() == 10);
}

TEST_CASE("session: TIME, ROLE and CONFIG GET") {
  PlayedHost host;
  PlayedSession client(host);
  CHECK(client.ask({"TIME"}) == "*2\r\n$10\r\n1700000000\r\n$6\r\n123456\r\n");
  host.server.durable_lsn = Lsn(17);
  CHECK(client.ask({"ROLE"}) == "*3\r\n$6\r\nmaster\r\n:17\r\n*0\r\n");
  CHECK(client.ask({"CONFIG", "GET", "databases"}) == "*2\r\n$9\r\ndatabases\r\n$1\r\n1\r\n");
  CHECK(client.ask({"CONFIG", "GET", "nope"}) == "*0\r\n");
  CHECK(client.ask({"CONFIG", "GET", "ended-re*", "PORT"}) ==
        "*4\r\n$4\r\nport\r\n$4\r\n7379\r\n$15\r\nended-retention\r\n$8\r\n86400000\r\n");
}

TEST_CASE("session: COMMAND knows our commands, their keys and documents them") {
  PlayedHost host;
  PlayedSession client(host);
  CHECK(client.ask({"COMMAND", "INFO", "get", "nosuch"})
            .starts_with("*2\r\n*10\r\n$3\r\nget\r\n:2\r\n*1\r\n+readonly\r\n:1\r\n:1\r\n:1\r\n"));
  CHECK(client.ask({"COMMAND", "GETKEYS", "RESERVE", "item:1", "u"}) == "*1\r\n$6\r\nitem:1\r\n");
  CHECK(client.ask({"COMMAND", "GETKEYS", "DEL", "a", "b"}) == "*2\r\n$1\r\na\r\n$1\r\nb\r\n");
  CHECK(client.ask({"COMMAND", "GETKEYS", "PING"}) == "-ERR The command has no key arguments\r\n");
  CHECK(client.ask({"COMMAND", "GETKEYS", "NOSUCH"}) == "-ERR Invalid command specified\r\n");
  CHECK(client.ask({"COMMAND", "DOCS", "reserve"}).starts_with("*2\r\n$7\r\nreserve\r\n*8\r\n$7\r\nsummary\r\n"));
  CHECK(client.ask({"COMMAND", "LIST", "FILTERBY", "PATTERN", "resERVE"}) == "*1\r\n$7\r\nreserve\r\n");
  CHECK(client.ask({"COMMAND", "INFO", "client|id"}).starts_with("*1\r\n*10\r\n$9\r\nclient|id\r\n:2\r\n"));
}

TEST_CASE("session: every line of INFO ends in CR LF") {
  PlayedHost host;
  PlayedSession client(host);
  const std::string info = client.ask({"INFO"});
  for (std::size_t at = info.find('\n'); at != std::string::npos; at = info.find('\n', at + 1))
    CHECK(info[at - 1] == '\r');
  for (const auto* field :
       {"redis_version:7.2.", "role:master\r\n", "loading:0\r\n", "cluster_enabled:0\r\n", "durable_lsn:0\r\n"}) {
    CHECK(info.find(field) != std::string::npos);
  }
  CHECK(client.ask({"INFO", "foo"}) == "$0\r\n\r\n");
  CHECK(client.ask({"INFO", "cluster"}) == "$30\r\n# Cluster\r\ncluster_enabled:0\r\n\r\n");
}
