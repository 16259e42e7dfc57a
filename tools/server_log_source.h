// The log of a running server, over RESP: LOG READ and LOG ACK. Connects when it has to. One thread.
#pragma once

#include "replication/log_source.h"
#include "tools/credentials.h"

#include <memory>

namespace holdfast {

/// `server`: HOST:PORT.
std::unique_ptr<LogSource> make_server_log_source(std::string server, Credentials credentials);

}  // namespace holdfast
