#include "server/user_names.h"

#include "tests/simulation/seeded_random.h"

#include "tests/doctest.h"

#include <set>
#include <vector>

using namespace holdfast;
using namespace std::string_literals;

namespace {

std::string text_of(simulation::Dice& dice) {
  switch (dice.below(3)) {
    case 0:
      return std::to_string(dice.next());
    case 1: {
      std::string name(1 + dice.below(kUserBytesMax), '\0');
      for (char& c : name) c = static_cast<char>(dice.next());
      return name;
    }
    default:
      return "0192f0c1-2345-7abc-8def-" + std::to_string(100'000'000'000 + dice.below(800'000'000'000));
  }
}

}  // namespace

TEST_CASE("user names: every kind is kept and shown exactly") {
  UserNames names(1);
  for (const std::string& text : {"0"s, "18446744073709551615"s, "9007199254740993"s, "18446744073709551616"s, "007"s,
                                  "0192f0c1-2345-7abc-8def-0123456789ab"s, "x"s, "a\0 b\r\n\xff"s,
                                  std::string(128, 'u'), std::string(128, '\0')}) {
    const UserId user = UserId::parse(text).value();
    const UserRef kept = names.store(user);
    CHECK(names.user_of(kept).text() == text);
    CHECK(names.user_of(kept) == user);
    CHECK(names.is_user_of(kept, user));
    CHECK(names.hash(names.user_of(kept)) == names.hash(user));
  }
}

TEST_CASE("user names: users that look alike are others") {
  UserNames names(1);
  const std::vector<std::string> texts{"7",
                                       "007",
                                       "+7",
                                       "7 ",
                                       std::string("7\0", 2),
                                       "0192f0c1-2345-7abc-8def-0123456789ab",
                                       "0192F0C1-2345-7abc-8def-0123456789ab"};
  std::set<std::uint64_t> hashes;
  for (const std::string& stored : texts) {
    const UserRef kept = names.store(UserId::parse(stored).value());
    hashes.insert(names.hash(names.user_of(kept)));
    for (const std::string& other : texts) {
      CHECK(names.is_user_of(kept, UserId::parse(other).value()) == (stored == other));
    }
  }
  CHECK(hashes.size() == texts.size());
}

TEST_CASE("user names: the seed decides the hash, so that nobody can choose users that collide") {
  const UserId user = UserId::parse("somebody").value();
  CHECK(UserNames(1).hash(user) != UserNames(2).hash(user));
  CHECK(UserNames(1).hash(UserId::from_number(5)) != UserNames(2).hash(UserId::from_number(5)));
}

TEST_CASE("user names: names stay whole while others come and go, and memory comes back") {
  UserNames names(1);
  simulation::Dice dice(5);
  std::vector<std::pair<std::string, UserRef>> kept;
  std::size_t bytes_before = 0;
  for (int round = 0; round < 60'000; ++round) {
    if (kept.size() < 1'000 || (kept.size() < 2'000 && dice.chance(1, 2))) {
      std::string text = text_of(dice);
      const UserRef ref = names.store(UserId::parse(text).value());
      kept.emplace_back(std::move(text), ref);
    } else {
      std::swap(kept[dice.below(kept.size())], kept.back());
      REQUIRE(names.user_of(kept.back().second).text() == kept.back().first);
      names.release(kept.back().second);
      kept.pop_back();
    }
    if (round == 30'000) bytes_before = names.bytes();
  }
  for (const auto& [text, ref] : kept) REQUIRE(names.user_of(ref).text() == text);
  CHECK(names.bytes() <= bytes_before + bytes_before / 2);
}
