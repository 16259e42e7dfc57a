// Which connections CLIENT LIST and CLIENT KILL mean. Values; any thread.
#pragma once

#include "protocol/command_table.h"
#include "server/client_facts.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {

/// Everything that is given must fit.
struct ClientFilter {
  std::vector<std::uint64_t> ids;  // empty: any
  std::string address;             // empty: any; likewise below
  std::string local_address;
  std::string user;
  std::string type;  // normal, pubsub, master or replica
  std::optional<std::int64_t> age_seconds_min;
  std::optional<std::uint64_t> without;  // this connection is left out

  bool matches(const ClientFacts& facts) const;
};

/// The filter that the words behind CLIENT LIST give. An error is in Redis's words, the code among them.
struct ReadFilter {
  ClientFilter filter;
  std::string error;  // empty: read
};
ReadFilter read_list_filter(Words words);
/// CLIENT KILL's, of more than one word. `self` is left out unless SKIPME says no.
ReadFilter read_kill_filter(Words words, std::uint64_t self);

}  // namespace holdfast
