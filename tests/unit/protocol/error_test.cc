#include "protocol/error.h"

#include "tests/doctest.h"

#include <set>
#include <string>

using namespace holdfast;

namespace {

std::string echo(std::string_view input) { return std::string(Echo(input).text()); }

std::string repeated(std::size_t count, char c) { return std::string(count, c); }

}  // namespace

TEST_CASE("error: the table lists each code once, at its own index") {
  std::size_t index = 0;
  std::set<std::string_view> names;
  for (const ErrorEntry* entry = error_table_begin(); entry != error_table_end(); ++entry, ++index) {
    CHECK(static_cast<std::size_t>(entry->code) == index);
    CHECK(names.insert(entry->name).second);
    CHECK(error_wire_word(entry->code) == entry->wire);
    CHECK(entry->summary.ends_with('.'));
  }
  CHECK(index > 0);
}

TEST_CASE("error: wire words are upper case and none begins like a word that clients act on") {
  for (const ErrorEntry* entry = error_table_begin(); entry != error_table_end(); ++entry) {
    CAPTURE(entry->name);
    CHECK_FALSE(entry->wire.empty());
    CHECK(entry->wire.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string_view::npos);
    for (const std::string_view taken : {"ASK", "MOVED", "WAIT", "BUSY", "REDIRECT", "OOM", "READONLY"}) {
      CHECK_FALSE(entry->wire.starts_with(taken));
    }
  }
}

TEST_CASE("error: the words of design.md stand in the table") {
  CHECK(error_wire_word(ErrorCode::no_item) == "NOITEM");
  CHECK(error_wire_word(ErrorCode::id_mismatch) == "IDMISMATCH");
  CHECK(error_wire_word(ErrorCode::version) == "VERSION");
  CHECK(error_wire_word(ErrorCode::fenced) == "FENCED");
  CHECK(error_wire_word(ErrorCode::overloaded) == "OVERLOADED");
  CHECK(error_wire_word(ErrorCode::loading) == "LOADING");
  CHECK(error_wire_word(ErrorCode::damaged) == "ERR");
}

TEST_CASE("error: a text up to the limit is kept whole, a longer one is cut") {
  const auto text_of = [](std::size_t size) { return std::string(Error(ErrorCode::err, repeated(size, 'x')).text()); };
  CHECK(text_of(0).empty());
  CHECK(text_of(399) == repeated(399, 'x'));
  CHECK(text_of(400) == repeated(400, 'x'));
  CHECK(text_of(401) == repeated(400, 'x'));
}

TEST_CASE("error: a formatted text obeys the same limit") {
  const auto text_of = [](std::size_t size) {
    return std::string(Error::format(ErrorCode::version, "{}", repeated(size, 'y')).text());
  };
  CHECK(Error::format(ErrorCode::version, "field {} is {}", "STOCK", 5).text() == "field STOCK is 5");
  CHECK(Error::format(ErrorCode::version, "x").code() == ErrorCode::version);
  CHECK(text_of(400) == repeated(400, 'y'));
  CHECK(text_of(401) == repeated(400, 'y'));
  CHECK(text_of(100'000) == repeated(400, 'y'));
}

TEST_CASE("error: HOLDFAST_TRY leaves with the error and goes on without one") {
  const auto guarded = [](Result<void> inner) -> Result<int> {
    HOLDFAST_TRY(inner);
    return 1;
  };
  CHECK(guarded({}).value() == 1);
  const auto failed = guarded(Error(ErrorCode::no_space, "full"));
  REQUIRE(failed.has_error());
  CHECK(failed.error().code() == ErrorCode::no_space);
  CHECK(failed.error().text() == "full");
}

TEST_CASE("echo: printable ASCII is shown as it is") {
  CHECK(echo("").empty());
  CHECK(echo("item:1 {a}'\"~") == "item:1 {a}'\"~");
}

TEST_CASE("echo: other bytes are shown in hexadecimal") {
  using namespace std::string_view_literals;
  CHECK(echo("a\r\n\0\x1f\x7f\xff"sv) == "a\\x0d\\x0a\\x00\\x1f\\x7f\\xff");
}

TEST_CASE("echo: 128 bytes are shown whole, 129 are cut to 128") {
  CHECK(echo(repeated(128, 'a')) == repeated(128, 'a'));
  CHECK(echo(repeated(129, 'a')) == repeated(125, 'a') + "...");
  CHECK(echo(repeated(100'000, 'a')) == repeated(125, 'a') + "...");
}

TEST_CASE("echo: a cut never splits a hexadecimal byte") {
  const std::string binary(33, '\xff');  // 132 characters
  const std::string shown = echo(binary);
  CHECK(shown.size() == 127);  // 31 x 4 + 3
  CHECK(shown.ends_with("\\xff..."));
  CHECK(echo(std::string(32, '\xff')).size() == 128);
  CHECK(echo(repeated(125, 'a') + '\n') == repeated(125, 'a') + "...");
  CHECK(echo(repeated(124, 'a') + '\n') == repeated(124, 'a') + "\\x0a");
}
