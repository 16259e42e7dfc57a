#include "server/glob.h"

#include "tests/doctest.h"

#include <string>

using namespace holdfast;

TEST_CASE("glob: patterns as Redis has them") {
  struct Case {
    std::string_view pattern;
    std::string_view text;
    bool matches;
  };
  for (const Case each : {Case{"", "", true},
                          {"", "a", false},
                          {"*", "", true},
                          {"*", "anything", true},
                          {"a", "a", true},
                          {"a", "A", false},
                          {"a", "ab", false},
                          {"ab", "a", false},
                          {"?", "", false},
                          {"?", "a", true},
                          {"??", "a", false},
                          {"a*c", "abbbc", true},
                          {"a*c", "ac", true},
                          {"a*c", "acb", false},
                          {"*a*a*", "banana", true},
                          {"*a*a*a*a*", "banana", false},
                          {"**", "x", true},
                          {"item:*", "item:1001", true},
                          {"[abc]", "b", true},
                          {"[abc]", "d", false},
                          {"[^abc]", "d", true},
                          {"[^abc]", "a", false},
                          {"[a-c]", "b", true},
                          {"[c-a]", "b", true},
                          {"[a-c]", "d", false},
                          {"[a-c]x", "cx", true},
                          {"[^a-c]", "b", false},
                          {"\\*", "*", true},
                          {"\\*", "a", false},
                          {"[\\]]", "]", true},
                          {"[a", "a", true},
                          {"a\\", "a\\", true},
                          {"user999?", "user9991", true},
                          {"*[0-9]", "item:7", true},
                          {"*[0-9]", "item:x", false}}) {
    CAPTURE(each.pattern);
    CAPTURE(each.text);
    CHECK(glob_matches(each.pattern, each.text) == each.matches);
  }
}

TEST_CASE("glob: without regard to case where that is asked for") {
  CHECK(glob_matches("MaxMemory*", "maxmemory-policy", true));
  CHECK(glob_matches("[A-C]x", "bX", true));
  CHECK(!glob_matches("[A-C]x", "bX"));
}

TEST_CASE("glob: no pattern is slow") {
  std::string pattern;
  for (int i = 0; i < 60; ++i) pattern += "*a";
  CHECK(!glob_matches(pattern + "b", std::string(10'000, 'a')));
}
