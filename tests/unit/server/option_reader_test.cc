#include "server/option_reader.h"

#include "tests/doctest.h"

#include <array>

using namespace holdfast;

namespace {

std::string error(const OptionReader& options) {
  return options.failed() ? std::string(options.error().text()) : "none";
}

}  // namespace

TEST_CASE("option reader: names in any case, values behind them, in any order") {
  const std::array<std::string_view, 6> words{"RESERVE", "item", "qty", "7", "Details", "x"};
  OptionReader options(words, 2);
  CHECK(!options.take("ID", 0));
  CHECK(options.take("QTY", 1));
  CHECK(options.number(1, 9) == 7);
  CHECK(options.take("DETAILS", 2));
  CHECK(!options.at_end());
  CHECK(options.value() == "x");
  CHECK(options.at_end());
  CHECK(!options.take("QTY", 3));
  CHECK(options.has(1));
  CHECK(!options.has(0));
  CHECK(error(options) == "none");
}

TEST_CASE("option reader: an option given twice is an error, and the first error stays") {
  const std::array<std::string_view, 4> words{"QTY", "1", "QTY", "x"};
  OptionReader options(words, 0);
  CHECK(options.take("QTY", 0));
  options.number(1, 9);
  CHECK(options.take("QTY", 0));
  CHECK(error(options) == "QTY is given twice");
  options.number(1, 9);
  CHECK(error(options) == "QTY is given twice");
}

TEST_CASE("option reader: a value that is missing, or no number in its range") {
  const auto number = [](std::string_view word) {
    const std::array<std::string_view, 2> words{"QTY", word};
    OptionReader options(words, 0);
    options.take("QTY", 0);
    options.number(2, 20);
    return error(options);
  };
  CHECK(number("2") == "none");
  CHECK(number("20") == "none");
  for (const std::string_view bad : {"1", "21", "", "02", "+2", "-2", "2 ", "0x2", "2.0", "99999999999999999999"}) {
    CAPTURE(bad);
    CHECK(number(bad) == "QTY must be a number from 2 to 20, got '" + std::string(bad) + "'");
  }
  const std::array<std::string_view, 1> alone{"QTY"};
  OptionReader options(alone, 0);
  options.take("QTY", 0);
  CHECK(options.number(2, 20) == 0);
  CHECK(error(options) == "QTY needs a value");
}

TEST_CASE("option reader: unknown words are named, with what is unprintable escaped") {
  const std::array<std::string_view, 1> words{"wh\nat"};
  OptionReader options(words, 0);
  options.unknown();
  CHECK(error(options) == "unknown option 'wh\\x0aat'");
}
