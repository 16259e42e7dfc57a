#include "server/client_filter.h"

#include "protocol/names.h"
#include "server/session_commands.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast {
namespace {

constexpr std::size_t kEchoBytesMax = 128;

/// What an error line may repeat of a word.
std::string echo(std::string_view word) {
  std::string text(word.substr(0, kEchoBytesMax));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\r' || c == '\n' || c == '\0'; }, ' ');
  return text;
}

std::optional<std::string> read_type(std::string_view word) {
  if (equals_ignoring_case(word, "NORMAL")) return "normal";
  if (equals_ignoring_case(word, "PUBSUB")) return "pubsub";
  if (equals_ignoring_case(word, "MASTER")) return "master";
  if (equals_ignoring_case(word, "REPLICA") || equals_ignoring_case(word, "SLAVE")) return "replica";
  return std::nullopt;
}

std::string unknown_type(std::string_view word) { return fmt::format("ERR Unknown client type '{}'", echo(word)); }

/// One option of CLIENT KILL with its value; an error, or nothing.
std::string read_kill_option(std::string_view option, std::string_view value, ClientFilter& filter, bool& skip_self) {
  if (equals_ignoring_case(option, "ID")) {
    std::int64_t id = 0;
    if (!parse_integer(value, id) || id < 1) return "ERR client-id should be greater than 0";
    filter.ids = {static_cast<std::uint64_t>(id)};
  } else if (equals_ignoring_case(option, "ADDR")) {
    filter.address = value;
  } else if (equals_ignoring_case(option, "LADDR")) {
    filter.local_address = value;
  } else if (equals_ignoring_case(option, "USER")) {
    filter.user = value;
  } else if (equals_ignoring_case(option, "TYPE")) {
    const auto type = read_type(value);
    if (!type) return unknown_type(value);
    filter.type = *type;
  } else if (equals_ignoring_case(option, "MAXAGE")) {
    std::int64_t age = 0;
    if (!parse_integer(value, age)) return "ERR maxage is not an integer or out of range";
    if (age <= 0) return "ERR maxage should be greater than 0";
    filter.age_seconds_min = age;
  } else if (equals_ignoring_case(option, "SKIPME")) {
    skip_self = equals_ignoring_case(value, "YES");
    if (!skip_self && !equals_ignoring_case(value, "NO")) return std::string(kSyntaxError);
  } else {
    return std::string(kSyntaxError);
  }
  return {};
}

}  // namespace

bool ClientFilter::matches(const ClientFacts& facts) const {
  if (!ids.empty() && std::find(ids.begin(), ids.end(), facts.id) == ids.end()) return false;
  if (!address.empty() && address != facts.address) return false;
  if (!local_address.empty() && local_address != facts.local_address) return false;
  if (!user.empty() && user != facts.user) return false;
  if (!type.empty() && type != client_type(facts)) return false;
  if (age_seconds_min && facts.age_seconds < *age_seconds_min) return false;
  return !without || *without != facts.id;
}

ReadFilter read_list_filter(Words words) {
  ReadFilter read;
  if (words.empty()) return read;
  if (words.size() == 2 && equals_ignoring_case(words[0], "TYPE")) {
    const auto type = read_type(words[1]);
    if (!type) return {{}, unknown_type(words[1])};
    read.filter.type = *type;
    return read;
  }
  if (words.size() < 2 || !equals_ignoring_case(words[0], "ID")) return {{}, std::string(kSyntaxError)};
  read.filter.ids.reserve(words.size() - 1);
  for (const std::string_view word : words.subspan(1)) {
    std::int64_t id = 0;
    if (!parse_integer(word, id)) return {{}, "ERR Invalid client ID"};
    read.filter.ids.push_back(static_cast<std::uint64_t>(id));
  }
  return read;
}

ReadFilter read_kill_filter(Words words, std::uint64_t self) {
  ReadFilter read;
  bool skip_self = true;
  if (words.size() % 2 != 0) return {{}, std::string(kSyntaxError)};
  for (std::size_t i = 0; i < words.size(); i += 2) {
    read.error = read_kill_option(words[i], words[i + 1], read.filter, skip_self);
    if (!read.error.empty()) return read;
  }
  if (skip_self) read.filter.without = self;
  return read;
}

}  // namespace holdfast
