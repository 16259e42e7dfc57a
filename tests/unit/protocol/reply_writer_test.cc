#include "protocol/reply_writer.h"

#include "tests/doctest.h"

#include <string>

using namespace holdfast;
using namespace std::string_view_literals;

namespace {

/// What `write` appends, in one protocol version.
template <class Write>
std::string written(RespVersion version, Write write) {
  std::string out;
  ReplyWriter reply(out, version);
  write(reply);
  return out;
}

template <class Write>
std::string resp2(Write write) {
  return written(RespVersion::resp2, write);
}

template <class Write>
std::string resp3(Write write) {
  return written(RespVersion::resp3, write);
}

}  // namespace

TEST_CASE("reply: integers have no plus, no leading zeros and the whole range") {
  CHECK(resp2([](ReplyWriter& reply) { reply.integer(0); }) == ":0\r\n");
  CHECK(resp2([](ReplyWriter& reply) { reply.integer(-8); }) == ":-8\r\n");
  CHECK(resp3([](ReplyWriter& reply) { reply.integer(INT64_MAX); }) == ":9223372036854775807\r\n");
  CHECK(resp3([](ReplyWriter& reply) { reply.integer(INT64_MIN); }) == ":-9223372036854775808\r\n");
}

TEST_CASE("reply: a status is one line") {
  CHECK(resp2([](ReplyWriter& reply) { reply.status("OK"); }) == "+OK\r\n");
  CHECK(resp3([](ReplyWriter& reply) { reply.status(""); }) == "+\r\n");
}

TEST_CASE("reply: a bulk keeps every byte and tells its length") {
  CHECK(resp2([](ReplyWriter& reply) { reply.bulk(""); }) == "$0\r\n\r\n");
  CHECK(resp2([](ReplyWriter& reply) { reply.bulk("\0\xff\r\n"sv); }) == "$4\r\n\0\xff\r\n\r\n"sv);
  const std::string large(100'000, 'b');
  CHECK(resp3([&](ReplyWriter& reply) { reply.bulk(large); }) == "$100000\r\n" + large + "\r\n");
}

TEST_CASE("reply: an error is its word, a space and its text, always on one line") {
  const auto error = [](ErrorCode code, std::string_view text) {
    return resp2([&](ReplyWriter& reply) { reply.error(Error(code, text)); });
  };
  CHECK(error(ErrorCode::no_item, "item:1") == "-NOITEM item:1\r\n");
  CHECK(error(ErrorCode::err, "") == "-ERR \r\n");
  CHECK(error(ErrorCode::err, "a\rb\nc\r\nd\0e"sv) == "-ERR a b c  d e\r\n");
  CHECK(error(ErrorCode::err, "\r\n+OK\r\n") == "-ERR   +OK  \r\n");
}

TEST_CASE("reply: an error's line ends touch nothing that was written before it") {
  CHECK(resp2([](ReplyWriter& reply) {
          reply.bulk("a\r\nb");
          reply.error(Error(ErrorCode::err, "x\ny"));
        }) == "$4\r\na\r\nb\r\n-ERR x y\r\n");
}

TEST_CASE("reply: a raw error begins with its own word") {
  CHECK(resp2([](ReplyWriter& reply) { reply.raw_error("NOSCRIPT No matching script. Please use EVAL."); }) ==
        "-NOSCRIPT No matching script. Please use EVAL.\r\n");
}

TEST_CASE("reply: nothing has one form in RESP3 and two in RESP2") {
  CHECK(resp2([](ReplyWriter& reply) { reply.null(); }) == "$-1\r\n");
  CHECK(resp2([](ReplyWriter& reply) { reply.null_array(); }) == "*-1\r\n");
  CHECK(resp3([](ReplyWriter& reply) { reply.null(); }) == "_\r\n");
  CHECK(resp3([](ReplyWriter& reply) { reply.null_array(); }) == "_\r\n");
}

TEST_CASE("reply: an array announces its values") {
  CHECK(resp2([](ReplyWriter& reply) { reply.array(0); }) == "*0\r\n");
  CHECK(resp3([](ReplyWriter& reply) { reply.array(1'048'576); }) == "*1048576\r\n");
}

TEST_CASE("reply: a map counts pairs in RESP3 and is a flat array in RESP2") {
  CHECK(resp3([](ReplyWriter& reply) { reply.map(7); }) == "%7\r\n");
  CHECK(resp2([](ReplyWriter& reply) { reply.map(7); }) == "*14\r\n");
  CHECK(resp3([](ReplyWriter& reply) { reply.map(0); }) == "%0\r\n");
  CHECK(resp2([](ReplyWriter& reply) { reply.map(0); }) == "*0\r\n");
}

TEST_CASE("reply: sets and pushes are arrays in RESP2") {
  CHECK(resp3([](ReplyWriter& reply) { reply.set(2); }) == "~2\r\n");
  CHECK(resp2([](ReplyWriter& reply) { reply.set(2); }) == "*2\r\n");
  CHECK(resp3([](ReplyWriter& reply) { reply.push(3); }) == ">3\r\n");
  CHECK(resp2([](ReplyWriter& reply) { reply.push(3); }) == "*3\r\n");
}

TEST_CASE("reply: a verbatim text carries its kind in RESP3 and is a bulk in RESP2 (RC-61)") {
  static constexpr std::string_view kInfo = "# Cluster\r\ncluster_enabled:0\r\n";
  CHECK(resp3([](ReplyWriter& reply) { reply.verbatim(kInfo); }) ==
        "=34\r\ntxt:# Cluster\r\ncluster_enabled:0\r\n\r\n");
  CHECK(resp2([](ReplyWriter& reply) { reply.verbatim(kInfo); }) == "$30\r\n# Cluster\r\ncluster_enabled:0\r\n\r\n");
}

TEST_CASE("reply: replies follow each other in one buffer") {
  CHECK(resp3([](ReplyWriter& reply) {
          reply.array(2);
          reply.integer(1);
          reply.null();
        }) == "*2\r\n:1\r\n_\r\n");
}
