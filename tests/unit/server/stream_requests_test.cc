#include "server/stream_requests.h"

#include "server/limits.h"
#include "tests/doctest.h"

namespace holdfast {
namespace {

using List = std::vector<std::string_view>;

template <class T>
std::string error_of(const Result<T>& result) {
  return result ? std::string() : std::string(result.error().text());
}

}  // namespace

TEST_CASE("stream requests: LOG READ takes its options in any order, and says what is wrong") {
  const auto read = parse_log_read(List{"LOG", "READ", "5", "BLOCK", "100", "MAXBYTES", "4096"});
  REQUIRE(read.has_value());
  CHECK(read->from == Lsn(5));
  CHECK(read->bytes_max == 4096);
  CHECK(read->block == Millis(100));
  CHECK(parse_log_read(List{"LOG", "READ", "5", "MAXBYTES", "99999999999"})->bytes_max == kLogReadBytesMax);
  CHECK(parse_log_read(List{"LOG", "READ", "5", "MAXBYTES", "1", "BLOCK", "0"})->block == kWaitMax);
  CHECK(error_of(parse_log_read(List{"LOG", "READ", "0", "MAXBYTES", "1"})) == "lsn must be a number from 1, got '0'");
  CHECK(error_of(parse_log_read(List{"LOG", "READ", "1", "BLOCK", "1"})) == "MAXBYTES is missing");
  CHECK(error_of(parse_log_read(List{"LOG", "READ", "1", "MAXBYTES", "1", "BLOCK", "-1"})) == "timeout is negative");
  CHECK(error_of(parse_log_read(List{"LOG", "READ", "1", "MAXBYTES", "0"})) != "");
}

TEST_CASE("stream requests: XREAD as Redis takes it") {
  const auto read = parse_xread(List{"XREAD", "COUNT", "2", "BLOCK", "0", "STREAMS", "log", "x", "5-3", "$"});
  REQUIRE(read.has_value());
  CHECK(read->count == 2);
  CHECK(read->block == kWaitMax);
  REQUIRE(read->keys.size() == 2);
  CHECK(read->keys[0].after == StreamId{5, 3});
  CHECK(!read->keys[1].after.has_value());
  CHECK(parse_xread(List{"XREAD", "COUNT", "-2", "STREAMS", "log", "5"})->count == UINT64_MAX);
  CHECK(error_of(parse_xread(List{"XREAD", "STREAMS", "log", "x"})) ==
        "Invalid stream ID specified as stream command argument");
  CHECK(error_of(parse_xread(List{"XREAD", "STREAMS", "log", "5", "6"})).starts_with("Unbalanced"));
  CHECK(error_of(parse_xread(List{"XREAD", "BLOCK", "x", "STREAMS", "log", "5"})) ==
        "timeout is not an integer or out of range");
  CHECK(error_of(parse_xread(List{"XREAD", "STREAMS", "log", ">"})).starts_with("The > ID"));
  CHECK(error_of(parse_xread(List{"XREAD", "a", "b", "STREAMS"})) == "syntax error");
  CHECK(error_of(parse_xread(List{"XREAD", "COUNT", "1", "COUNT"})) == "syntax error");
}

TEST_CASE("stream requests: XRANGE's ids mean LSNs, also open and incomplete ones") {
  struct Case {
    std::string_view from, through;
    std::uint64_t first, last;
  };
  for (const Case& each : std::initializer_list<Case>{{"-", "+", 0, UINT64_MAX},
                                                      {"5", "7", 5, 7},
                                                      {"5-0", "7-0", 5, 7},
                                                      {"5-1", "7-1", 6, 7},
                                                      {"(5", "(7", 6, 7},
                                                      {"(5-0", "(7-0", 6, 6},
                                                      {"(5-3", "(7-3", 6, 7},
                                                      {"007", "08-00", 7, 8},
                                                      {"+", "-", UINT64_MAX, 0}}) {
    CAPTURE(each.from);
    const auto range = parse_xrange(List{"XRANGE", "log", each.from, each.through});
    REQUIRE(range.has_value());
    CHECK(range->from == Lsn(each.first));
    CHECK(range->through == Lsn(each.last));
  }
  CHECK(parse_xrange(List{"XRANGE", "log", "-", "+", "COUNT", "-4"})->count == 0);
  CHECK(error_of(parse_xrange(List{"XRANGE", "log", "(-", "+"})) ==
        "Invalid stream ID specified as stream command argument");
  CHECK(error_of(parse_xrange(List{"XRANGE", "log", "-", "(0-0"})) == "invalid end ID for the interval");
  CHECK(error_of(parse_xrange(List{"XRANGE", "log", "(18446744073709551615-18446744073709551615", "+"})) ==
        "invalid start ID for the interval");
  CHECK(error_of(parse_xrange(List{"XRANGE", "log", "-", "+", "COUNT"})) == "syntax error");
}

TEST_CASE("stream requests: XINFO STREAM, short and full") {
  CHECK_FALSE(parse_xinfo_stream(List{"XINFO", "STREAM", "log"})->full);
  CHECK(parse_xinfo_stream(List{"XINFO", "STREAM", "log", "full"})->count == 10);
  CHECK(parse_xinfo_stream(List{"XINFO", "STREAM", "log", "FULL", "COUNT", "0"})->count == UINT64_MAX);
  CHECK(error_of(parse_xinfo_stream(List{"XINFO", "STREAM", "log", "FULL", "COUNT"})) != "");
  CHECK(error_of(parse_xinfo_stream(List{"XINFO", "STREAM", "log", "EMPTY"})) != "");
}

}  // namespace holdfast
