// The process's limit of open files. A shell around getrlimit; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast {

/// Raises the limit, as far as the system lets it, so that so many connections fit beside the files of the server and its
/// shard threads.
/// Returns how many do; when these are fewer, tells what to do.
std::uint64_t fitting_connections(std::uint64_t wanted, std::size_t threads, void (*notice)(std::string_view line));

}  // namespace holdfast
