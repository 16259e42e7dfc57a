// The running hash of the state, kept in every batch header. A value; any thread.
#pragma once

#include <cstdint>

namespace holdfast {

/// Sum modulo 2^128 of a hash per item: number, version, state, sequence and counters. Being a sum, it does not depend
/// on the number of shards: the log's is the sum of the shards'.
struct StateHash {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const StateHash&) const noexcept = default;

  StateHash& operator+=(const StateHash& other) noexcept {
    low += other.low;
    high += other.high + (low < other.low ? 1U : 0U);
    return *this;
  }
  StateHash& operator-=(const StateHash& other) noexcept {
    high -= other.high + (low < other.low ? 1U : 0U);
    low -= other.low;
    return *this;
  }
};

}  // namespace holdfast
