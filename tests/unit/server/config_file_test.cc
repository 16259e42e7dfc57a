#include "server/config_file.h"

#include "tests/doctest.h"

#include <sys/stat.h>

#include <fstream>

using namespace holdfast;

namespace {

const std::string kDigest = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";  // of "abc"

/// What reading a file of this text gives: the error's text, empty for none.
std::string read(std::string_view text, CommandLine& line, mode_t mode = 0600) {
  std::ofstream("config.toml", std::ios::trunc) << text;
  CHECK(chmod("config.toml", mode) == 0);
  const auto done = read_config_file("config.toml", line);
  return done ? "" : std::string(done.error().text());
}

std::string read(std::string_view text) {
  CommandLine line;
  return read(text, line);
}

std::string user(std::string_view lines) { return "[users.shop]\n" + std::string(lines) + "\n"; }

}  // namespace

TEST_CASE("config file: users with roles and secrets") {
  CommandLine line;
  CHECK(read("port = 7000\n" + user("roles = [\"buyer\", \"reader\"]\nsecrets = [\"" + kDigest + "\"]") +
                 "[users.gone]\nroles = []\nsecrets = [\"" + kDigest + "\"]\ndisabled = true\n",
             line) == "");
  CHECK(line.options.port == 7000);
  const User* shop = line.users.authenticate("shop", "abc");
  REQUIRE(shop != nullptr);
  CHECK(shop->roles == (kOpenRoles | role_bit(Role::any) | role_bit(Role::buyer) | role_bit(Role::reader)));
  CHECK(line.users.contains("gone"));
  CHECK(line.users.authenticate("gone", "abc") == nullptr);
  CHECK(line.warnings.empty());
}

TEST_CASE("config file: an error names file, line and key, and what may have been meant") {
  CHECK(read("port = 1\nprot = 2\n") == "config.toml:2: unknown key 'prot'; did you mean 'port'?");
  CHECK(read("colour = 2\n") == "config.toml:1: unknown key 'colour'; holdfastd --help lists the options");
  CHECK(read("[user.shop]\n").find("unknown key 'user'; did you mean 'users'?") != std::string::npos);
  CHECK(read("port = 1.5\n") == "config.toml:1: port: wants a text, a whole number, true or false");
  CHECK(read("\nport = \"x\"\n") == "config.toml:2: port: 'x' is not a whole number");
  CHECK(read("port = \n").starts_with("config.toml:1: "));
  CHECK(read("users = 1\n") == "config.toml:1: users: each user is a table of its own, [users.NAME]");
  CHECK(read("[users]\nshop = 1\n") == "config.toml:2: users.shop: a user is a table, [users.NAME]");
  CHECK(read("[users.\"a b\"]\n").find("users.a b: a name has 1 to 64 printable") != std::string::npos);
}

TEST_CASE("config file: what is wrong with a user is said") {
  const std::string secrets = "secrets = [\"" + kDigest + "\"]\n";
  CHECK(read(user(secrets + "role = [\"buyer\"]")) ==
        "config.toml:3: users.shop: unknown key 'role'; did you mean 'roles'?");
  CHECK(read(user(secrets + "roles = [\"byer\"]")) ==
        "config.toml:3: users.shop: 'byer' is not a role; did you mean 'buyer'?");
  CHECK(read(user(secrets + "roles = [\"any\"]")).find("'any' is not a role") != std::string::npos);
  CHECK(read(user(secrets + "roles = [7]")).find("a role is a text") != std::string::npos);
  CHECK(read(user(secrets + "roles = \"buyer\"")).find("roles is an array of reader, buyer") != std::string::npos);
  CHECK(read(user(secrets)) == "config.toml:1: users.shop: roles is missing");
  CHECK(read(user("roles = []")) == "config.toml:1: users.shop: secrets is missing");
  CHECK(read(user("roles = []\nsecrets = []")).find("array of 1 to 4 digests") != std::string::npos);
  CHECK(read(user("roles = []\ndisabled = 1\n" + secrets)).find("disabled is true or false") != std::string::npos);
}

TEST_CASE("config file: a bad digest is not repeated, since it may be the secret itself") {
  const std::string text = read(user("roles = []\nsecrets = [\"hunter2\"]"));
  CHECK(text.starts_with("config.toml:3: users.shop: a secret stands here as its digest"));
  CHECK(text.find("hunter2") == std::string::npos);
}

TEST_CASE("config file: with users it must not be written by everybody, and should not be read") {
  const std::string text = user("roles = []\nsecrets = [\"" + kDigest + "\"]");
  CommandLine readable;
  CHECK(read(text, readable, 0644) == "");
  REQUIRE(readable.warnings.size() == 1);
  CHECK(readable.warnings[0].find("everybody may read config.toml") != std::string::npos);
  CommandLine writable;
  CHECK(read(text, writable, 0602).find("everybody may write config.toml") != std::string::npos);
  CommandLine without;
  CHECK(read("port = 7000\n", without, 0666) == "");
  CHECK(without.warnings.empty());
  CHECK(read_config_file("missing.toml", without).error().text().find("No such file") != std::string::npos);
  CHECK_FALSE(read_config_file(".", without).has_value());
}
