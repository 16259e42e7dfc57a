// A reply as a value: decoded from RESP bytes, written as text, compared with what a test expects.
//
// As text: 1, OK, "a bulk", nil, -ERR text, ["a" 2], {key 1 other "x"}, ("a" "b") for a set. Values only; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::testing {

struct ReplyValue {
  enum class Kind : std::uint8_t { integer, status, bulk, error, null, array, map, set, anything };

  Kind kind = Kind::null;
  std::int64_t number = 0;
  std::string text;               // of a status, a bulk or an error (with its code, without the dash)
  std::vector<ReplyValue> items;  // of a map: keys and values in turn
  bool open = false;              // of an expected map: further keys may come

  bool operator==(const ReplyValue&) const = default;

  /// The one reply that these bytes are. Anything else, a rest included, is an exception.
  static ReplyValue decode(std::string_view bytes);
  std::string to_text() const;
  /// Whether this is what `expected` says: an error begins with its text, in which "..." stands for anything; a map of
  /// RESP2 is the flat array of its keys and values; `anything` is any value.
  bool fits(const ReplyValue& expected) const;
  /// Of a map in either protocol; an exception when the key is not there.
  const ReplyValue& at(std::string_view key) const;
};

/// Bytes as a double-quoted word, unprintable ones as \xNN.
std::string quoted(std::string_view bytes);

}  // namespace holdfast::testing
