// What CLIENT LIST, INFO and KILL know of one connection. Values and views; whoever keeps the connection fills them.
#pragma once

#include "protocol/command_table.h"
#include "protocol/reply_writer.h"

#include <string>
#include <string_view>

namespace holdfast {

/// One connection as it stands; the views are valid until it changes. What Holdfast does not have is not here.
struct ClientFacts {
  // The session's part.
  std::uint64_t id = 0;
  std::string_view address;
  std::string_view local_address;
  int fd = -1;
  std::string_view name;
  std::string_view user = "default";
  std::string_view library;
  std::string_view library_version;
  std::int64_t age_seconds = 0;
  RespVersion version = RespVersion::resp2;
  const CommandEntry* last = nullptr;
  bool monitors = false;
  bool subscribes = false;
  bool blocked = false;
  bool closing = false;
  bool no_evict = false;
  bool no_touch = false;
  std::uint64_t channels = 0;
  std::uint64_t patterns = 0;
  std::uint64_t shard_channels = 0;
  std::int64_t queued = -1;             // commands of a MULTI; -1: none is open
  std::uint64_t queued_bytes = 0;       // and what their words take
  std::size_t output_bytes = 0;         // ready for the socket
  std::uint32_t output_replies = 0;     // behind one that is not there yet
  std::size_t output_held_bytes = 0;    // and their bytes
  std::size_t output_buffer_bytes = 0;  // memory for all of them

  // The socket's part.
  std::int64_t idle_seconds = 0;
  std::size_t input_bytes = 0;  // read and not executed
  std::size_t input_free_bytes = 0;
  bool watches_input = false;
  bool watches_output = false;
  std::size_t memory_bytes = 0;  // all told
};

/// The letters of its `flags`, "N" when there are none.
std::string client_flags(const ClientFacts& facts);
/// "pubsub" or "normal", as TYPE names them. There are no replicas.
std::string_view client_type(const ClientFacts& facts) noexcept;
/// "client|list"; "NULL" for none.
std::string command_label(const CommandEntry* entry);
/// Appends the line of CLIENT LIST, with its LF.
void append_client_line(std::string& text, const ClientFacts& facts);

}  // namespace holdfast
