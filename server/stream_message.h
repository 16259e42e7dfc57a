// What goes to the thread that reads the log, and back. Values.
#pragma once

#include "server/message.h"

#include <string>
#include <vector>

namespace holdfast {

/// A command about the log.
struct StreamRequest {
  const CommandEntry* entry = nullptr;
  ThreadIndex thread;  // of the connection
  ReplyAddress address;
  RespVersion version = RespVersion::resp2;
  std::vector<std::string> words;
  Lsn newest{};  // durable when it is asked: what $ means
};

struct StreamReply {
  ThreadIndex thread;
  ReplyAddress address;
  std::string bytes;
};

}  // namespace holdfast
