// Opens the socket that a server listens on. Any thread.
#pragma once

#include "server/poller.h"

#include <string>

namespace holdfast {

/// A listening socket that does not block. `address` is numeric, IPv4 or IPv6. The error names address and port and
/// says what to do.
/// `prefix`: of the names of the options that say where, for the error's text.
Result<FileDescriptor> open_listener(const std::string& address, std::uint16_t port, std::string_view prefix = {});

}  // namespace holdfast
