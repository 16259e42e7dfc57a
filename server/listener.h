// Opens the socket that a server listens on. Any thread.
#pragma once

#include "server/poller.h"

#include <string>

namespace holdfast {

/// A listening socket that does not block. `address` is numeric, IPv4 or IPv6. The error names address and port and
/// says what to do.
Result<FileDescriptor> open_listener(const std::string& address, std::uint16_t port);

}  // namespace holdfast
