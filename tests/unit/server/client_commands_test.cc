#include "tests/doctest.h"
#include "tests/unit/server/session_fixture.h"

using namespace holdfast;
using Kind = ConnectionOrder::Kind;

TEST_CASE("client_commands: orders about connections are answered later, and nothing overtakes them") {
  PlayedHost host;
  PlayedSession client(host);
  CHECK(client.send(request({"CLIENT", "LIST"}) + request({"PING"})) == "");
  REQUIRE(host.played.orders.size() == 1);
  CHECK(host.played.orders[0].kind == Kind::list);
  CHECK(client.unread() > 0);
  client.session.answer(host.played.orders[0].address.slot, "$1\r\nx\r\n");
  CHECK(client.send("") == "$1\r\nx\r\n+PONG\r\n");
  client.ask({"CLIENT", "INFO"});
  CHECK(host.played.orders[1].filter.ids == std::vector<std::uint64_t>{42});
}

TEST_CASE("client_commands: CLIENT KILL has an old form and a new one") {
  PlayedHost host;
  PlayedSession one(host), two(host);
  one.ask({"CLIENT", "KILL", "1.2.3.4:5"});
  two.ask({"CLIENT", "KILL", "ID", "9"});
  REQUIRE(host.played.orders.size() == 2);
  CHECK(host.played.orders[0].kind == Kind::kill_one);
  CHECK(host.played.orders[0].filter.address == "1.2.3.4:5");
  CHECK_FALSE(host.played.orders[0].filter.without);
  CHECK(host.played.orders[1].kind == Kind::kill);
  CHECK(host.played.orders[1].filter.without == 42);
  PlayedSession wrong(host);
  CHECK(wrong.ask({"CLIENT", "KILL", ""}) == "-ERR No such client\r\n");
  CHECK(wrong.ask({"CLIENT", "KILL", "FOO", "x"}) == "-ERR syntax error\r\n");
  CHECK(wrong.ask({"CLIENT", "LIST", "FOO"}) == "-ERR syntax error\r\n");
}

TEST_CASE("client_commands: CLIENT UNBLOCK reads its reason before the id") {
  PlayedHost host;
  PlayedSession client(host);
  CHECK(client.ask({"CLIENT", "UNBLOCK", "x"}) == "-ERR value is not an integer or out of range\r\n");
  CHECK(client.ask({"CLIENT", "UNBLOCK", "1", "FOO"}) == "-ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR\r\n");
  CHECK(client.ask({"CLIENT", "UNBLOCK", "1", "error"}) == "");
  CHECK(host.played.orders.at(0).kind == Kind::unblock_fail);
}

TEST_CASE("client_commands: what a client sets is seen, and RESET takes it back") {
  PlayedHost host;
  PlayedSession client(host);
  client.ask({"CLIENT", "NO-EVICT", "ON"});
  client.ask({"CLIENT", "NO-TOUCH", "on"});
  client.ask({"CLIENT", "SETINFO", "LIB-NAME", "l"});
  client.ask({"MONITOR"});
  CHECK(client_flags(client.session.facts(WallTime(Millis(1'700'000'003'500)))) == "OeT");
  CHECK(client.session.facts(WallTime(Millis(1'700'000'003'500))).age_seconds == 3);
  CHECK(client.ask({"RESET"}) == "+RESET\r\n");
  CHECK_FALSE(host.played.monitored());
  const ClientFacts after = client.session.facts(WallTime());
  CHECK(client_flags(after) == "N");
  CHECK(after.library == "l");
  CHECK(command_label(after.last) == "reset");
  CHECK(client.ask({"CLIENT", "NO-EVICT", "x"}) == "-ERR syntax error\r\n");
}

TEST_CASE("client_commands: there is no tracking and no pause") {
  PlayedHost host;
  PlayedSession client(host);
  CHECK(client.ask({"CLIENT", "GETREDIR"}) == ":-1\r\n");
  CHECK(client.ask({"CLIENT", "TRACKINGINFO"}) ==
        "*6\r\n$5\r\nflags\r\n*1\r\n$3\r\noff\r\n$8\r\nredirect\r\n:-1\r\n$8\r\nprefixes\r\n*0\r\n");
  CHECK(client.ask({"CLIENT", "CACHING", "YES"}).starts_with("-ERR CLIENT CACHING can be called only when"));
  CHECK(client.ask({"CLIENT", "UNPAUSE"}) == "+OK\r\n");
  CHECK(client.ask({"CLIENT", "PAUSE", "1"}).starts_with("-ERR CLIENT PAUSE is not supported"));
  for (const auto* unknown : {"MAINT_NOTIFICATIONS", "CAPA"}) {
    CHECK(client.ask({"CLIENT", unknown, "x"}) ==
          std::string("-ERR unknown subcommand '") + unknown + "'. Try CLIENT HELP.\r\n");
  }
}
