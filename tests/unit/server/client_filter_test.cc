#include "server/client_filter.h"

#include "tests/doctest.h"

using namespace holdfast;

namespace {

ReadFilter list(std::vector<std::string_view> words) { return read_list_filter(words); }
ReadFilter kill(std::vector<std::string_view> words) { return read_kill_filter(words, 5); }

ClientFacts client(std::uint64_t id) {
  ClientFacts facts;
  facts.id = id;
  facts.address = "1.2.3.4:5";
  facts.local_address = "5.6.7.8:9";
  facts.age_seconds = 10;
  return facts;
}

}  // namespace

TEST_CASE("client_filter: CLIENT LIST takes nothing, a type or ids") {
  CHECK(list({}).filter.matches(client(1)));
  CHECK(list({"type", "normal"}).filter.matches(client(1)));
  CHECK_FALSE(list({"TYPE", "pubsub"}).filter.matches(client(1)));
  CHECK_FALSE(list({"TYPE", "slave"}).filter.matches(client(1)));
  CHECK(list({"ID", "3", "1"}).filter.matches(client(1)));
  CHECK_FALSE(list({"ID", "3"}).filter.matches(client(1)));
  CHECK(list({"ID", "x"}).error == "ERR Invalid client ID");
  CHECK(list({"TYPE", "foo\r\n"}).error == "ERR Unknown client type 'foo  '");
  for (const auto* word : {"ID", "TYPE", "FOO"}) CHECK(list({word}).error == "ERR syntax error");
  CHECK(list({"TYPE", "normal", "x"}).error == "ERR syntax error");
}

TEST_CASE("client_filter: everything that CLIENT KILL names must fit, and oneself is left out unless asked for") {
  CHECK(
      kill({"ADDR", "1.2.3.4:5", "LADDR", "5.6.7.8:9", "USER", "default", "TYPE", "normal"}).filter.matches(client(1)));
  CHECK_FALSE(kill({"ADDR", "1.2.3.4:6"}).filter.matches(client(1)));
  CHECK_FALSE(kill({"LADDR", "1.2.3.4:5"}).filter.matches(client(1)));
  CHECK_FALSE(kill({"USER", "other"}).filter.matches(client(1)));
  CHECK(kill({"MAXAGE", "10"}).filter.matches(client(1)));
  CHECK_FALSE(kill({"MAXAGE", "11"}).filter.matches(client(1)));
  CHECK_FALSE(kill({"TYPE", "normal"}).filter.matches(client(5)));
  CHECK_FALSE(kill({"ID", "5", "SKIPME", "yes"}).filter.matches(client(5)));
  CHECK(kill({"ID", "5", "SKIPME", "no"}).filter.matches(client(5)));
}

TEST_CASE("client_filter: CLIENT KILL's mistakes are told in Redis's words") {
  CHECK(kill({"ID", "0"}).error == "ERR client-id should be greater than 0");
  CHECK(kill({"ID", "x"}).error == "ERR client-id should be greater than 0");
  CHECK(kill({"MAXAGE", "x"}).error == "ERR maxage is not an integer or out of range");
  CHECK(kill({"MAXAGE", "0"}).error == "ERR maxage should be greater than 0");
  CHECK(kill({"TYPE", "foo"}).error == "ERR Unknown client type 'foo'");
  CHECK(kill({"SKIPME", "foo"}).error == "ERR syntax error");
  CHECK(kill({"FOO", "bar"}).error == "ERR syntax error");
  CHECK(kill({"ID", "1", "ADDR"}).error == "ERR syntax error");
}
