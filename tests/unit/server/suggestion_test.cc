#include "server/suggestion.h"

#include "tests/doctest.h"

#include <vector>

using namespace holdfast;

TEST_CASE("suggestion: the nearest known word, if it is near") {
  const std::vector<std::string_view> known = {"port", "bind", "data-dir", "ended-retention"};
  CHECK(nearest_word("prot", known) == "port");
  CHECK(nearest_word("data_dir", known) == "data-dir");
  CHECK(nearest_word("ended-retension", known) == "ended-retention");
  CHECK(nearest_word("bnd", known) == "bind");
  CHECK(nearest_word("maximum", known).empty());
  CHECK(nearest_word("", known).empty());
  CHECK(nearest_word(std::string(10'000, 'p'), known).empty());
}

TEST_CASE("suggestion: a few are listed when none is near, many are not") {
  const std::vector<std::string_view> few = {"roles", "secrets"};
  CHECK(suggestion("role", few) == "; did you mean 'roles'?");
  CHECK(suggestion("colour", few) == "; known are roles, secrets");
  const std::vector<std::string_view> many(30, "option");
  CHECK(suggestion("colour", many).empty());
}
