// Appends RESP replies to a buffer, in the protocol version of the connection that asked.
// The only place that knows how RESP2 and RESP3 differ. No I/O; one thread at a time.
#pragma once

#include "protocol/error.h"

#include <string>
#include <string_view>

namespace holdfast {

enum class RespVersion : std::uint8_t { resp2 = 2, resp3 = 3 };

/// Writes into a string that the caller owns and reuses; appending allocates only while that string grows.
class ReplyWriter {
 public:
  ReplyWriter(std::string& out, RespVersion version) noexcept : out_(out), version_(version) {}

  RespVersion version() const noexcept { return version_; }
  /// HELLO's own reply is the first one in the version that it asks for.
  void set_version(RespVersion version) noexcept { version_ = version; }
  /// Bytes in the buffer so far: where the next reply begins.
  std::size_t size() const noexcept { return out_.size(); }
  /// ":n"
  void integer(std::int64_t number);
  /// "+text"; REQUIRES: no CR or LF in it.
  void status(std::string_view text);
  /// "$n ..."; any bytes.
  void bulk(std::string_view bytes);
  /// "-CODE text"; CR, LF and NUL in the text become spaces.
  void error(const Error& error);
  /// "-" and this text as it is, its first word being the code. REQUIRES: no CR or LF in it.
  void raw_error(std::string_view text);
  /// "$-1" or "_"
  void null();
  /// "*-1" or "_"
  void null_array();
  /// Announces `count` values that follow.
  void array(std::size_t count);
  /// Announces `pairs` keys with their values: "%n", or a flat "*2n" in RESP2.
  void map(std::size_t pairs);
  /// Announces `count` members: "~n" or "*n".
  void set(std::size_t count);
  /// Announces an out-of-band message: ">n" or "*n".
  void push(std::size_t count);
  /// A text: "=n txt:..." or a plain bulk in RESP2.
  void verbatim(std::string_view text);

 private:
  void header(char type, std::uint64_t count);

  std::string& out_;
  RespVersion version_;
};

}  // namespace holdfast
