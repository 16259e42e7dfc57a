// Connections of the load generator. Any thread.
#pragma once

#include "protocol/error.h"
#include "tools/credentials.h"

#include <string>

namespace holdfast {

/// Connects to an IPv4 address and, where they are given, sends the credentials; the descriptor, which blocks and sends at
/// once. Errors: io_failed.
Result<int> open_bench_socket(const std::string& host, std::uint16_t port, const Credentials& credentials);

}  // namespace holdfast
