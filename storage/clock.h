// The one interface through which time and randomness come in. The machine's implementation is in machine_clock.h, the
// virtual one in the tests. Any thread.
#pragma once

#include "protocol/types.h"

#include <array>
#include <chrono>
#include <span>

namespace holdfast {

/// One look at the clocks.
struct ClockReading {
  std::chrono::nanoseconds boot{};  // CLOCK_BOOTTIME: since the machine started, suspend included
  std::chrono::nanoseconds wall{};  // CLOCK_REALTIME: Unix time
};

/// Names one run of the machine's kernel.
using BootId = std::array<std::uint8_t, 16>;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual ClockReading read() = 0;
  /// CLOCK_BOOTTIME alone, where only a time that passed is wanted.
  virtual std::chrono::nanoseconds boot() { return read().boot; }
  virtual BootId boot_id() = 0;
};

class Random {
 public:
  virtual ~Random() = default;
  /// Fills the span with unpredictable bytes (predictable ones in the simulator).
  virtual void fill(std::span<std::uint8_t> bytes) = 0;
};

}  // namespace holdfast
