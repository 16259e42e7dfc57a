#include "tests/doctest.h"
#include "tests/unit/server/session_fixture.h"

using namespace holdfast;

TEST_CASE("admin_commands: MONITOR sees what is executed, and only that") {
  PlayedHost host;
  PlayedSession client(host);
  client.ask({"PING"});
  CHECK(client.ask({"MONITOR"}) == "+OK\r\n");
  for (const auto* word : {"PING", "NOSUCH", "GET"}) client.ask({word});
  client.ask({"RESERVE", "a", "1"});
  host.server.loading = true;
  client.ask({"RESERVE", "b", "1"});
  REQUIRE(host.played.lines.size() == 2);
  CHECK(host.played.lines[0] == "+1700000000.123456 [0 127.0.0.1:5000] \"PING\"\r\n");
  CHECK(host.played.lines[1] == "+1700000000.123456 [0 127.0.0.1:5000] \"RESERVE\" \"a\" \"1\"\r\n");
  PlayedSession other(host);
  host.played.room_for_monitors = false;
  CHECK(other.ask({"MONITOR"}) == "-ERR 64 connections monitor already\r\n");
}

TEST_CASE("admin_commands: what is shown keeps its place among replies, and goes nowhere when replies are off") {
  PlayedHost host;
  PlayedSession client(host);
  client.ask({"GET", "{a}:stock"});
  client.session.show("+line\r\n");
  CHECK(client.take() == "");
  client.session.answer(host.forwarded.at(0).address.slot, "$-1\r\n");
  CHECK(client.take() == "$-1\r\n+line\r\n");
  client.ask({"CLIENT", "REPLY", "OFF"});
  client.session.show("+line\r\n");
  CHECK(client.take() == "");
  client.session.cut();
  CHECK(client.session.finished());
}

TEST_CASE("admin_commands: SHUTDOWN answers only what is wrong with it") {
  PlayedHost host;
  PlayedSession client(host);
  CHECK(client.ask({"SHUTDOWN", "ABORT"}) == "-ERR No shutdown in progress.\r\n");
  CHECK(client.ask({"SHUTDOWN", "FOO"}) == "-ERR syntax error\r\n");
  CHECK(client.ask({"SHUTDOWN", "SAVE", "NOSAVE"}) == "-ERR syntax error\r\n");
  CHECK(client.ask({"SHUTDOWN", "ABORT", "NOW"}) == "-ERR syntax error\r\n");
  CHECK(host.played.shutdowns == 0);
  CHECK(client.send(request({"SHUTDOWN", "nosave", "NOW", "FORCE"}) + request({"PING"})) == "");
  CHECK(host.played.shutdowns == 1);
  CHECK(client.session.finished());
}

TEST_CASE("admin_commands: WAIT and WAITAOF hold their connection until they are answered") {
  PlayedHost host;
  PlayedSession client(host);
  CHECK(client.ask({"WAIT", "0", "0"}) == ":0\r\n");
  CHECK(client.ask({"WAIT", "-1", "0"}) == ":0\r\n");
  CHECK(client.ask({"WAIT", "x", "0"}) == "-ERR value is not an integer or out of range\r\n");
  CHECK(client.ask({"WAIT", "1", "x"}) == "-ERR timeout is not an integer or out of range\r\n");
  CHECK(client.ask({"WAIT", "1", "-1"}) == "-ERR timeout is negative\r\n");
  CHECK(client.ask({"WAITAOF", "2", "0", "0"}) == "-ERR value is out of range, value must between 0 and 1\r\n");
  CHECK(client.ask({"WAITAOF", "1", "-1", "0"}) == "-ERR value is out of range, must be positive\r\n");
  CHECK(host.played.waits.empty());
  CHECK(client.send(request({"WAITAOF", "1", "2", "70"}) + request({"PING"})) == "");
  REQUIRE(host.played.waits.size() == 1);
  const ClientWait wait = host.played.waits[0];
  CHECK((wait.kind == ClientWait::Kind::log && wait.local && wait.replicas && wait.timeout == Millis(70)));
  CHECK(client.session.blocked());
  CHECK(client_flags(client.session.facts(WallTime())) == "b");
  client.session.answer(wait.address.slot, "*2\r\n:1\r\n:0\r\n");
  CHECK(client.send("") == "*2\r\n:1\r\n:0\r\n+PONG\r\n");
  CHECK_FALSE(client.session.blocked());
  client.ask({"WAIT", "1", "0"});
  CHECK(host.played.waits.at(1).timeout == kWaitMax);
}

TEST_CASE("admin_commands: a RESERVATION WAIT blocks until it is answered") {
  PlayedHost host;
  PlayedSession client(host);
  client.ask({"RESERVATION", "WAIT", "a", "ID", "x", "STAGE", "durable", "TIMEOUT", "9"});
  CHECK(client.session.blocked());
  client.session.answer(host.forwarded.at(0).address.slot, "$-1\r\n");
  CHECK_FALSE(client.session.blocked());
}

TEST_CASE("admin_commands: saving is waiting for the log, which has every change") {
  PlayedHost host;
  PlayedSession client(host);
  host.server.last_save = WallTime(Millis(1'700'000'000'999));
  CHECK(client.ask({"LASTSAVE"}) == ":1700000000\r\n");
  CHECK(client.ask({"BGSAVE"}) == "+Background saving started\r\n");
  CHECK(client.ask({"BGSAVE", "SCHEDULE"}).front() == '+');
  CHECK(client.ask({"BGSAVE", "FOO"}) == "-ERR syntax error\r\n");
  CHECK(client.ask({"BGREWRITEAOF"}) == "+Background append only file rewriting started\r\n");
  CHECK(client.ask({"SAVE"}) == "");
  CHECK(host.played.waits.at(0).kind == ClientWait::Kind::save);
}

TEST_CASE("admin_commands: replication, clusters and what stops everybody are refused clearly") {
  PlayedHost host;
  PlayedSession client(host);
  CHECK(client.ask({"REPLICAOF", "no", "one"}) == "+OK\r\n");
  CHECK(client.ask({"SLAVEOF", "NO", "ONE"}) == "+OK\r\n");
  CHECK(client.ask({"REPLICAOF", "h", "1"}).starts_with("-ERR REPLICAOF is not supported"));
  CHECK(client.ask({"FAILOVER"}) == "-ERR FAILOVER requires connected replicas.\r\n");
  CHECK(client.ask({"FAILOVER", "ABORT"}) == "-ERR No failover in progress.\r\n");
  CHECK(client.ask({"SYNC"}).starts_with("-ERR SYNC is not supported"));
  CHECK(client.ask({"PSYNC", "?", "-1"}).starts_with("-ERR PSYNC is not supported"));
  CHECK(client.ask({"DEBUG", "SLEEP", "1"}).starts_with("-ERR DEBUG is not supported"));
  CHECK(client.ask({"KEYS", "*"}).starts_with("-ERR KEYS is not supported"));
  CHECK(client.ask({"SENTINEL", "MASTERS"}).starts_with("-ERR unknown command 'SENTINEL'"));
  for (const auto* sub : {"SLOTS", "NODES", "KEYSLOT", "HELP", "FOO"}) {
    CHECK(client.ask({"CLUSTER", sub}) == "-ERR This instance has cluster support disabled\r\n");
  }
}

TEST_CASE("admin_commands: every container of subcommands has HELP, one line after another") {
  PlayedHost host;
  PlayedSession client(host);
  for (const CommandEntry& entry : command_table()) {
    if (entry.subcommand.empty()) continue;
    const std::string container(entry.name);
    const std::string help = client.ask({container, "HELP"});
    CHECK_MESSAGE(help.find("+" + container + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:\r\n") !=
                      std::string::npos,
                  container);
    CHECK(help.find("+HELP\r\n+    Prints this help.\r\n") != std::string::npos);
  }
}
