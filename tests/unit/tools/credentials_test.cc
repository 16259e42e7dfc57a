#include "tools/credentials.h"

#include "tools/user_secret.h"

#include "tests/doctest.h"

#include <cstdlib>
#include <fstream>

using namespace holdfast;

namespace {

void set_variables(const char* own, const char* redis) {
  setenv("HOLDFASTCTL_AUTH", own, 1);
  setenv("REDISCLI_AUTH", redis, 1);
}

}  // namespace

TEST_CASE("credentials: a file's first line, else the environment, else none") {
  set_variables("", "");
  CHECK_FALSE(find_credentials("", "")->given());
  CHECK(find_credentials("", "")->user == "default");
  set_variables("", "redis");
  CHECK(find_credentials("", "")->secret == "redis");
  set_variables("own", "redis");
  CHECK(find_credentials("shop", "")->secret == "own");
  std::ofstream("secret") << "in a file\r\nsecond line\n";
  const auto found = find_credentials("shop", "secret");
  REQUIRE(found.has_value());
  CHECK(found->secret == "in a file");
  CHECK(found->user == "shop");
}

TEST_CASE("credentials: what is missing is said") {
  set_variables("", "");
  CHECK(find_credentials("shop", "").error().text().find("--secret-file") != std::string_view::npos);
  CHECK(find_credentials("", "missing").error().text().find("cannot read missing") != std::string_view::npos);
  std::ofstream("empty") << "\nsecret\n";
  const auto found = find_credentials("", "empty");
  REQUIRE_FALSE(found.has_value());
  CHECK(found.error().text().find("first line of empty") != std::string_view::npos);
}

TEST_CASE("credentials: the digest is SHA-256 in the file's form") {
  CHECK(digest_text("abc") == "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("credentials: user-secret refuses what the server's file could not have") {
  const auto status = [](std::vector<std::string> words) { return user_secret_command(words); };
  CHECK(status({}) == 2);
  CHECK(status({"a b", "buyer"}) == 2);
  CHECK(status({"shop", "byer"}) == 2);
  CHECK(status({"shop", "any"}) == 2);
  CHECK(status({"shop", "buyer", "reader"}) == 0);
  CHECK(status({"probe"}) == 0);
}
