#include "protocol/names.h"

#include "tests/doctest.h"

#include <string>

using namespace holdfast;
using namespace std::string_literals;
using namespace std::string_view_literals;

namespace {

/// The bytes of the item an argument names, or "error: " and the text.
std::string item(std::string_view argument) {
  const auto name = ItemName::parse(argument);
  return name ? std::string(name->bytes()) : "error: " + std::string(name.error().text());
}

UserId user(std::string_view argument) { return UserId::parse(argument).value(); }

constexpr std::string_view kUuid = "0192f0c1-2345-7abc-8def-0123456789ab";

}  // namespace

TEST_CASE("item name: one pair of braces around the argument does not count") {
  CHECK(item("item:1001") == "item:1001");
  CHECK(item("{item:1001}") == "item:1001");
  CHECK(ItemName::parse("{item:1001}").value() == ItemName::parse("item:1001").value());
}

TEST_CASE("item name: braces that are not one pair around everything belong to the name") {
  for (const std::string_view name : {"{", "}", "}{", "{a", "a}", "{{a}}", "{a}{b}", "{a}b", "a{b}", "{{a}", "{a}}",
                                      "{a{b}", "{sale:77}item:1001", "{{}}"}) {
    CAPTURE(name);
    CHECK(item(name) == name);
  }
}

TEST_CASE("item name: an empty name is an error, in braces too") {
  CHECK(item("") == "error: item name is empty; it has 1 to 128 bytes");
  CHECK(item("{}") == "error: item name is empty; it has 1 to 128 bytes");
}

TEST_CASE("item name: 1 to 128 bytes, the one pair of braces not counted") {
  const std::string longest(128, 'n');
  CHECK(item("n") == "n");
  CHECK(item(longest) == longest);
  CHECK(item("{" + longest + "}") == longest);
  CHECK(item(longest + "n") == "error: item name has 129 bytes; it has 1 to 128");
  CHECK(item("{" + longest + "n}") == "error: item name has 129 bytes; it has 1 to 128");
  CHECK(item("{" + longest + "}x") == "error: item name has 131 bytes; it has 1 to 128");
}

TEST_CASE("item name: any byte may be part of it") {
  const auto binary = "a\0 b\r\n\xff"s;
  CHECK(item(binary) == binary);
  CHECK(ItemName::from_stored(binary).bytes() == binary);
}

TEST_CASE("item name: the hash tag is what stands between the first brace and the next that closes") {
  const auto tag = [](std::string_view name) { return ItemName::from_stored(name).hash_tag(); };
  CHECK(tag("{sale:77}item:1001") == "sale:77");
  CHECK(tag("item{a}{b}") == "a");
  CHECK(tag("{{a}}") == "{a");
  CHECK(tag("}{a}") == "a");
  CHECK(tag("{}{a}").empty());
  CHECK(tag("item").empty());
  CHECK(tag("{item").empty());
  CHECK(tag("item}").empty());
}

TEST_CASE("item name: slots are Redis Cluster's (RC-111)") {
  const auto slot = [](std::string_view name) { return ItemName::from_stored(name).slot(); };
  CHECK(slot("{item:1001}:stock") == 10273);
  CHECK(slot("item:1001") == 10273);
  CHECK(slot("123456789") == 12739);
  CHECK(ItemName::parse("{item:1001}")->slot() == 10273);
  // An empty tag does not count: the whole name is hashed, as CRC16("{}") and CRC16("a") show.
  CHECK(slot("{}") == 15257);
  CHECK(slot("a") == 15495);
  CHECK(slot("x{a}y") == 15495);
}

TEST_CASE("user: a canonical decimal number below 2^64 is a number") {
  for (const std::string_view text :
       {"0", "7", "42", "9007199254740993", "9999999999999999999", "18446744073709551615"}) {
    CAPTURE(text);
    CHECK(user(text).kind() == UserId::Kind::number);
    CHECK(user(text).bytes().empty());
    CHECK(user(text).text() == text);
  }
  CHECK(user("18446744073709551615").number() == UINT64_MAX);
  CHECK(user("42") == UserId::from_number(42));
}

TEST_CASE("user: numbers in any other form are bytes and name other users") {
  for (const std::string_view text : {"18446744073709551616", "99999999999999999999", "184467440737095516150", "007",
                                      "00", "-1", "+1", " 1", "1 ", "1.0", "1e3", "0x1f", "-"}) {
    CAPTURE(text);
    CHECK(user(text).kind() == UserId::Kind::bytes);
    CHECK(user(text).number() == 0);
    CHECK(user(text).text() == text);
  }
  CHECK_FALSE(user("007") == user("7"));
  CHECK_FALSE(user("7") == UserId::from_bytes("7"));
}

TEST_CASE("user: a lower-case UUID is kept in 16 bytes and shown as it came") {
  const UserId id = user(kUuid);
  CHECK(id.kind() == UserId::Kind::uuid);
  CHECK(id.bytes() == "\x01\x92\xf0\xc1\x23\x45\x7a\xbc\x8d\xef\x01\x23\x45\x67\x89\xab"sv);
  CHECK(id.text() == kUuid);
  CHECK(id == UserId::from_uuid(id.bytes()));
}

TEST_CASE("user: other spellings of a UUID are bytes") {
  for (const std::string_view text :
       {"0192F0C1-2345-7ABC-8DEF-0123456789AB"sv, "0192f0c1-2345-7abc-8def-0123456789aB"sv,
        "0192f0c123457abc8def0123456789ab"sv, "{0192f0c1-2345-7abc-8def-0123456789ab}"sv,
        "0192f0c1-2345-7abc-8def-0123456789a"sv, "0192f0c1-2345-7abc-8def-0123456789ag"sv,
        "0192f0c12-345-7abc-8def-0123456789ab"sv}) {
    CAPTURE(text);
    CHECK(user(text).kind() == UserId::Kind::bytes);
    CHECK(user(text).text() == text);
    CHECK_FALSE(user(text) == user(kUuid));
  }
}

TEST_CASE("user: 1 to 128 bytes of any value") {
  const auto binary = "\0\r\n \xff"s + std::string(123, 'u');
  CHECK(user(binary).text() == binary);
  CHECK(user(binary) == UserId::from_bytes(binary));
  CHECK(UserId::parse("").error().text() == "user is empty; it has 1 to 128 bytes");
  CHECK(UserId::parse(std::string(129, '1')).error().text() == "user has 129 bytes; it has 1 to 128");
  CHECK(user(std::string(128, '1')).kind() == UserId::Kind::bytes);
}

TEST_CASE("reservation id: either case is read, lower case is shown") {
  const auto lower = ReservationId::parse(kUuid);
  const auto upper = ReservationId::parse("0192F0C1-2345-7ABC-8DEF-0123456789AB");
  REQUIRE(lower.has_value());
  REQUIRE(upper.has_value());
  CHECK(*lower == *upper);
  const auto text = upper->text();
  CHECK(std::string_view(text.data(), text.size()) == kUuid);
  CHECK(lower->bytes()[0] == 0x01);
  CHECK(lower->bytes()[15] == 0xab);
}

TEST_CASE("reservation id: any version and the extremes are ids, in the order of their bytes") {
  const auto nil = ReservationId::parse("00000000-0000-0000-0000-000000000000");
  const auto max = ReservationId::parse("ffffffff-ffff-ffff-ffff-ffffffffffff");
  REQUIRE(nil.has_value());
  REQUIRE(max.has_value());
  CHECK(*nil == ReservationId());
  CHECK(*nil < *max);
}

TEST_CASE("reservation id: anything but 36 characters of the usual form is an error that shows it") {
  for (const std::string_view text :
       {""sv, "1"sv, "0192f0c123457abc8def0123456789ab"sv, "0192f0c1-2345-7abc-8def-0123456789a"sv,
        "0192f0c1-2345-7abc-8def-0123456789abc"sv, "0192f0c1-2345-7abc-8def-0123456789ag"sv,
        "0192f0c1_2345_7abc_8def_0123456789ab"sv, "0192f0c12-345-7abc-8def-0123456789ab"sv,
        "0192f0c1-2345-7abc-8def-01234567-9ab"sv, "-192f0c1-2345-7abc-8def-0123456789ab"sv,
        "0x92f0c1-2345-7abc-8def-0123456789ab"sv, "{0192f0c1-2345-7abc-8def-0123456789ab}"sv}) {
    CAPTURE(text);
    const auto id = ReservationId::parse(text);
    REQUIRE(id.has_error());
    CHECK(id.error().text() == "ID must be a UUID of 36 characters, got '" + std::string(text) + "'");
  }
  CHECK(ReservationId::parse("a\r\n").error().text() == "ID must be a UUID of 36 characters, got 'a\\x0d\\x0a'");
}

TEST_CASE("numbers: a canonical one has digits only, no leading zero, and is at most the maximum") {
  std::uint64_t number = 0;
  CHECK(parse_canonical("0", 0, number));
  CHECK(number == 0);
  CHECK(parse_canonical("9007199254740991", std::uint64_t{kStockMax}, number));
  CHECK(number == std::uint64_t{kStockMax});
  CHECK_FALSE(parse_canonical("9007199254740992", std::uint64_t{kStockMax}, number));
  CHECK(parse_canonical("18446744073709551615", UINT64_MAX, number));
  CHECK(number == UINT64_MAX);
  for (const std::string_view text : {"", "01", "00", "-0", "-1", "+1", " 1", "1 ", "1a", "a", "1.5",
                                      "18446744073709551616", "100000000000000000000"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_canonical(text, UINT64_MAX, number));
  }
  CHECK_FALSE(parse_canonical("1\0"sv, UINT64_MAX, number));
}

TEST_CASE("numbers: an integer is read as Redis reads it (RC-73)") {
  std::int64_t number = 0;
  CHECK(parse_integer("0", number));
  CHECK(number == 0);
  CHECK(parse_integer("-1", number));
  CHECK(number == -1);
  CHECK(parse_integer("9223372036854775807", number));
  CHECK(number == INT64_MAX);
  CHECK(parse_integer("-9223372036854775808", number));
  CHECK(number == INT64_MIN);
  for (const std::string_view text : {"", "-", "--1", " 1", "1 ", "01", "-01", "+1", "1.0", "-0", "00", "abc",
                                      "9223372036854775808", "-9223372036854775809", "10000000000000000000"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_integer(text, number));
  }
}
