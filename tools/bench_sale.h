// A flash sale as it comes: users arrive at a rate that does not wait for anybody (open loop), each asks once for a unit of
// one item, and how late the answers are is counted from the moment when the user came. One thread.
#pragma once

#include "protocol/error.h"
#include "tools/credentials.h"
#include "tools/histogram.h"

#include <array>
#include <chrono>
#include <functional>
#include <string>

namespace holdfast {

struct SaleLoad {
  std::string host = "127.0.0.1";
  std::uint16_t port = 7379;
  std::string item = "sale";
  std::uint64_t users = 500'000;
  std::uint64_t users_per_second = 50'000;
  std::uint32_t connections = 64;
  std::uint64_t seed = 1;  // of users' numbers and ids
  Credentials credentials;
};

/// How far it is, several times a second.
struct SaleProgress {
  std::chrono::nanoseconds passed{};
  std::uint64_t came = 0;
  std::uint64_t answered = 0;
  std::uint64_t sold = 0;
};

struct SaleResult {
  static constexpr std::size_t kReasons = 8;  // -1 .. -8

  std::uint64_t sold = 0;
  std::array<std::uint64_t, kReasons> refused{};  // by the reply: refused[0] is -1
  std::uint64_t errors = 0;
  std::string first_error;
  std::chrono::nanoseconds wall{};
  std::chrono::nanoseconds last_unit{};  // from the first user to the last success
  Histogram latency;                     // ns from a user's coming to his answer
};

/// What a refusal's number means: "sold out" for 0.
std::string_view refusal_reason(std::size_t index) noexcept;

/// Errors: io_failed when the server cannot be reached, closes a connection, is silent for 10 s or sends no replies.
Result<SaleResult> run_sale(const SaleLoad& load, const std::function<void(const SaleProgress&)>& progress);

}  // namespace holdfast
