// A closed loop of any command over many connections: how many a second, how late, and what they cost the server.
// Requests are built before the clock starts; while it runs only placeholders are overwritten.
#pragma once

#include "protocol/error.h"
#include "tools/credentials.h"
#include "tools/histogram.h"
#include "tools/reply_counter.h"

#include <chrono>
#include <string>
#include <vector>

namespace holdfast {

struct RawLoad {
  std::string host = "127.0.0.1";
  std::uint16_t port = 7379;
  std::uint32_t connections = 50;
  /// Connections that are opened before each of these and stay silent: a server that deals connections to its threads in
  /// turn then has the load on one of so many and one.
  std::uint32_t silent = 0;
  std::uint32_t threads = 1;
  std::uint32_t pipeline = 1;
  std::uint64_t requests = 100'000;
  std::uint64_t keyspace = 1'000'000'000'000;  // __rand_int__ is below it
  std::uint64_t seed = 1;
  Credentials credentials;  // every connection sends them before the clock starts
  int server_pid = 0;       // 0: its CPU is not measured
  /// `__rand_int__` becomes a random number and `__seq__` the next one of all threads, both in 12 digits.
  std::vector<std::string> words;
};

struct RawResult {
  std::chrono::nanoseconds wall{};
  ReplyCounter::Counts counts;
  Histogram latency;  // ns from the write of a request's batch to its reply
  double server_cpu_seconds = 0;
  double client_cpu_seconds = 0;
};

/// Errors: io_failed when the server cannot be reached or answers something else than replies.
Result<RawResult> run_raw(const RawLoad& load);

/// CPU seconds that a process has used so far, from /proc; negative when there is no such process.
double process_cpu_seconds(int pid);

}  // namespace holdfast
