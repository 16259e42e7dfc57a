// Who may do what on a connection: AUTH, HELLO, roles, ACL, and what CONFIG SET may change.
#include "tests/unit/server/session_fixture.h"

#include "tests/doctest.h"

using namespace holdfast;

namespace {

constexpr auto* kWrong = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
constexpr auto* kNoAuth = "-NOAUTH Authentication required.\r\n";

User user_with(std::string_view name, std::string_view secret, std::initializer_list<Role> roles) {
  User user;
  user.name = name;
  user.secrets = {digest_secret(secret)};
  for (const Role role : roles) user.roles |= role_bit(role);
  return user;
}

/// A host with the users default (secret pw, every role), shop (buyer) and gone (disabled).
struct GuardedHost {
  GuardedHost() {
    User everything = user_with("default", "pw", {});
    everything.roles = kAllRoles;
    host.known.add(everything);
    host.known.add(user_with("shop", "s", {Role::buyer}));
    User gone = user_with("gone", "g", {Role::buyer});
    gone.enabled = false;
    host.known.add(gone);
  }
  PlayedHost host;
};

/// A request of the fewest words that the command takes.
std::string least_request(const CommandEntry& entry) {
  std::vector<std::string> words = {std::string(entry.name)};
  if (!entry.subcommand.empty()) words.emplace_back(entry.subcommand);
  words.resize(static_cast<std::size_t>(std::abs(entry.arity)), "1");
  std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  return bytes;
}

}  // namespace

TEST_CASE("access: before AUTH only AUTH, HELLO, QUIT and RESET are more than -NOAUTH") {
  GuardedHost guarded;
  for (const CommandEntry& entry : command_table()) {
    CAPTURE(entry.syntax);
    PlayedSession client(guarded.host);
    const std::string reply = client.send(least_request(entry));
    const bool open = entry.name == "AUTH" || entry.name == "HELLO" || entry.name == "QUIT" || entry.name == "RESET";
    CHECK((reply == kNoAuth) == !open);
  }
  CHECK(guarded.host.forwarded.empty());
}

TEST_CASE("access: a user with a role may do exactly what the table gives to that role") {
  for (const RoleEntry& role : role_table()) {
    PlayedHost host;
    host.known.add(user_with("u", "s", {role.role}));
    for (const CommandEntry& entry : command_table()) {
      CAPTURE(role.name);
      CAPTURE(entry.syntax);
      PlayedSession client(host);
      const Counter& counted = host.telemetry().stats.commands_denied;
      const std::uint64_t before = counted.value();
      CHECK(client.ask({"AUTH", "u", "s"}) == "+OK\r\n");
      const std::string denied = "-NOPERM User u has no permissions to run the '" + full_name(entry) + "' command\r\n";
      const bool allowed = entry.role == Role::open || entry.role == Role::any || entry.role == role.role;
      CHECK((client.send(least_request(entry)) == denied) == !allowed);
      CHECK(counted.value() - before == (allowed ? 0 : 1));
    }
  }
}

TEST_CASE("access: AUTH takes one word for the user default and two for any other") {
  GuardedHost guarded;
  PlayedSession client(guarded.host);
  CHECK(client.ask({"AUTH", "pwx"}) == kWrong);
  CHECK(client.ask({"PING"}) == kNoAuth);
  CHECK(client.ask({"AUTH", "pw"}) == "+OK\r\n");
  CHECK(client.ask({"ACL", "WHOAMI"}) == "$7\r\ndefault\r\n");
  CHECK(client.ask({"AUTH", "shop", "s"}) == "+OK\r\n");
  CHECK(client.ask({"ACL", "WHOAMI"}) == "$4\r\nshop\r\n");
  CHECK(client.session.facts(WallTime()).user == "shop");
  CHECK(client.ask({"AUTH", "gone", "g"}) == kWrong);
  CHECK(client.ask({"ACL", "WHOAMI"}) == "$4\r\nshop\r\n");
  CHECK(client.ask({"AUTH", "a", "b", "c"}) == "-ERR syntax error\r\n");
}

TEST_CASE("access: the third wrong secret closes the connection, by AUTH or by HELLO") {
  GuardedHost guarded;
  PlayedSession client(guarded.host);
  CHECK(client.ask({"AUTH", "x"}) == kWrong);
  CHECK(client.ask({"HELLO", "3", "AUTH", "nobody", "x"}) == kWrong);
  CHECK_FALSE(client.session.closing());
  CHECK(client.send(request({"AUTH", "shop", "x"}) + request({"AUTH", "pw"})) == kWrong);
  CHECK(client.session.finished());
  CHECK(client.session.wrong_secrets() == 3);
}

TEST_CASE("access: HELLO wants AUTH, applies its options together, and names itself only then") {
  GuardedHost guarded;
  PlayedSession client(guarded.host);
  CHECK(client.ask({"HELLO", "3"}) ==
        "-NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> "
        "<pass> option can be used to authenticate the client and select the RESP protocol version at the same "
        "time\r\n");
  CHECK(client.ask({"HELLO", "4", "AUTH", "default", "pw"}) == "-NOPROTO unsupported protocol version\r\n");
  CHECK(client.ask({"HELLO", "3", "AUTH", "default", "pw", "FOO"}) == "-ERR Syntax error in HELLO option 'FOO'\r\n");
  CHECK(client.ask({"HELLO", "3", "AUTH", "default", "pw", "SETNAME", "a b"}).starts_with("-ERR Client names"));
  CHECK(client.ask({"PING"}) == kNoAuth);
  CHECK(client.ask({"HELLO", "3", "SETNAME", "n", "AUTH", "default", "pw"}).starts_with("%7\r\n"));
  CHECK(client.ask({"CLIENT", "GETNAME"}) == "$1\r\nn\r\n");
  CHECK(client.ask({"RESET"}) == "+RESET\r\n");
  CHECK(client.ask({"PING"}) == kNoAuth);
}

TEST_CASE("access: before AUTH a request has 10 words and 16 KiB, and 4 KiB of replies end the connection") {
  GuardedHost guarded;
  std::string eleven = "*11\r\n";
  for (int i = 0; i < 10; ++i) eleven += "$1\r\nx\r\n";
  PlayedSession many(guarded.host);
  CHECK(many.send(eleven) == "");
  CHECK(many.send("$1\r\n") == "-ERR Protocol error: unauthenticated multibulk length\r\n");
  CHECK(many.session.finished());
  PlayedSession longs(guarded.host);
  CHECK(longs.send("*1\r\n$16385\r\n") == "-ERR Protocol error: unauthenticated bulk length\r\n");
  PlayedSession talks(guarded.host);
  std::string pings;
  for (int i = 0; i < 200; ++i) pings += request({"PING"});
  CHECK(talks.send(pings).size() <= kOutputBytesBeforeAuthMax + 64);
  CHECK(talks.session.finished());
  PlayedSession knows(guarded.host);
  CHECK(knows.send(request({"AUTH", "pw"}) + pings).size() == 5 + 7 * 200);
  CHECK(knows.send(eleven + "$1\r\n") == "");
  CHECK_FALSE(knows.session.closing());
}

TEST_CASE("access: ACL CAT and COMMAND LIST agree about categories") {
  PlayedHost host;
  PlayedSession client(host);
  CHECK(client.ask({"ACL", "CAT"}).starts_with("*21\r\n$8\r\nkeyspace\r\n$4\r\nread\r\n"));
  for (const auto* category : {"dangerous", "read", "write", "connection", "geo", "fast", "slow", "admin"}) {
    CAPTURE(category);
    CHECK(client.ask({"ACL", "CAT", category}) == client.ask({"COMMAND", "LIST", "FILTERBY", "ACLCAT", category}));
  }
  CHECK(client.ask({"ACL", "CAT", "DANGEROUS"}).find("config|set") != std::string::npos);
  CHECK(client.ask({"ACL", "CAT", "geo"}) == "*0\r\n");
  CHECK(client.ask({"ACL", "CAT", "nosuch"}) == "-ERR Unknown category 'nosuch'\r\n");
  CHECK(client.ask({"ACL", "SETUSER", "x"}) == "-ERR unknown subcommand 'SETUSER'. Try ACL HELP.\r\n");
}

TEST_CASE("access: CONFIG SET changes live options, all or none, in Redis's words") {
  PlayedHost host;
  PlayedSession client(host);
  CHECK(client.ask({"CONFIG", "SET", "MaxClients", "77", "timeout", "30"}) == "+OK\r\n");
  CHECK(client.ask({"CONFIG", "GET", "maxclients"}) == "*2\r\n$10\r\nmaxclients\r\n$2\r\n77\r\n");
  CHECK(client.ask({"CONFIG", "GET", "timeout"}) == "*2\r\n$7\r\ntimeout\r\n$2\r\n30\r\n");
  const std::string failed = "-ERR CONFIG SET failed (possibly related to argument '";
  CHECK(client.ask({"CONFIG", "SET", "maxclients", "5", "nosuch", "1"}) ==
        "-ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'\r\n");
  CHECK(client.ask({"CONFIG", "SET", "maxclients", "5", "data-dir", "x"}) ==
        failed + "data-dir') - can't set immutable config\r\n");
  CHECK(client.ask({"CONFIG", "SET", "maxclients", "5", "requirepass", "x"}) ==
        failed + "requirepass') - can't set immutable config\r\n");
  CHECK(client.ask({"CONFIG", "SET", "maxclients", "5", "MAXCLIENTS", "6"}) ==
        failed + "maxclients') - duplicate parameter\r\n");
  CHECK(client.ask({"CONFIG", "SET", "timeout", "5", "maxclients", "few"}) ==
        failed + "maxclients') - 'few' is not a whole number\r\n");
  CHECK(client.ask({"CONFIG", "SET", "maxclients", "5", "timeout"}) == "-ERR syntax error\r\n");
  CHECK(host.options().maxclients == 77);
  CHECK(host.options().timeout == 30);
  CHECK(client.ask({"CONFIG", "GET", "requirepass"}) == "*2\r\n$11\r\nrequirepass\r\n$0\r\n\r\n");
}

TEST_CASE("access: no path can be set at run time") {
  for (const OptionEntry& entry : option_table()) {
    CAPTURE(entry.name);
    CHECK_FALSE((entry.live && entry.kind == OptionKind::text));
  }
}
