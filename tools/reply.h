// Replies of a server as values: what programs that speak the protocol read. No I/O; any thread.
#pragma once

#include "protocol/error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {

struct Reply {
  enum class Kind : std::uint8_t { null, integer, status, bulk, error, real, boolean, array, set, map, push };

  Kind kind = Kind::null;
  std::int64_t integer = 0;  // integer, boolean
  std::string text;          // status, bulk, error, real
  std::vector<Reply> items;  // array, set, push; a map's keys and values in turn

  bool is_error() const noexcept { return kind == Kind::error; }
  /// The value of a map's key, nothing when it has none.
  const Reply* find(std::string_view key) const noexcept;
};

/// The first whole reply of either protocol at the front of `bytes`, and how many bytes it takes; nothing when it is not
/// whole yet. An error when the bytes are no reply.
struct ParsedReply {
  Reply reply;
  std::size_t bytes = 0;
};
Result<std::optional<ParsedReply>> parse_reply(std::string_view bytes);

/// Appends a request as an array of bulk strings.
void append_request(std::string& out, const std::vector<std::string>& words);

/// As redis-cli shows it: numbered lists, quoted texts, maps as "key: value" lines.
std::string show_reply(const Reply& reply);
/// As JSON, one line. Bytes that are not UTF-8 appear as their Latin-1 characters.
std::string reply_to_json(const Reply& reply);

}  // namespace holdfast
