#include "server/users.h"

#include "tests/doctest.h"

using namespace holdfast;

namespace {

User user_with(std::string_view name, std::initializer_list<std::string_view> secrets) {
  User user;
  user.name = name;
  for (const auto secret : secrets) user.secrets.push_back(digest_secret(secret));
  return user;
}

}  // namespace

TEST_CASE("users: a digest is SHA-256 and is read in either case of letters") {
  // printf abc | sha256sum
  const auto digest = parse_digest("sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61F20015AD");
  REQUIRE(digest.has_value());
  CHECK(*digest == digest_secret("abc"));
  for (const auto* bad : {"", "sha256:", "abc", "sha256:ba78", "md5:ba7816bf8f01cfea414140de5dae2223",
                          "sha256:ga7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
                          "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad0",
                          "SHA256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}) {
    CHECK_FALSE(parse_digest(bad).has_value());
  }
}

TEST_CASE("users: without any, everybody is default and may do everything") {
  const Users users;
  CHECK_FALSE(users.configured());
  CHECK(users.initial().name == "default");
  CHECK(users.initial().roles == kAllRoles);
  CHECK(users.authenticate("default", "anything") == &users.initial());
  CHECK(users.authenticate("somebody", "anything") == nullptr);
}

TEST_CASE("users: only a right secret of an enabled user is right, and each of his secrets is") {
  Users users;
  users.add(user_with("shop", {"old", "new"}));
  User gone = user_with("gone", {"x"});
  gone.enabled = false;
  users.add(gone);
  users.add(user_with("last", {"a", "b", "c", "d"}));
  CHECK(users.configured());
  CHECK(users.initial().roles == kOpenRoles);
  REQUIRE(users.authenticate("shop", "old") != nullptr);
  CHECK(users.authenticate("shop", "old")->name == "shop");
  CHECK(users.authenticate("shop", "new") != nullptr);
  for (const auto* secret : {"a", "b", "c", "d"}) CHECK(users.authenticate("last", secret) != nullptr);
  for (const auto* secret : {"", "Old", "x", "a"}) CHECK(users.authenticate("shop", secret) == nullptr);
  CHECK(users.authenticate("gone", "x") == nullptr);
  CHECK(users.authenticate("default", "old") == nullptr);
  CHECK(users.authenticate("Shop", "old") == nullptr);
  CHECK(users.authenticate("", "old") == nullptr);
}

TEST_CASE("users: a name is what a line of CLIENT LIST can show") {
  for (const auto* good : {"a", "default", "shop-7", "a.b@c"}) CHECK(is_user_name(good));
  CHECK(is_user_name(std::string(64, 'x')));
  for (const auto* bad : {"", "a b", "a\n", "\xc3\xa4"}) CHECK_FALSE(is_user_name(bad));
  CHECK_FALSE(is_user_name(std::string(65, 'x')));
}
