// How long to wait before what failed is tried again: longer each time, and not the same for all who wait. A value.
#pragma once

#include "replication/limits.h"

#include <algorithm>
#include <random>

namespace holdfast {

class BackOff {
 public:
  explicit BackOff(std::uint64_t seed) noexcept : dice_(seed) {}

  /// It failed once more; between a half and the whole of the delay that is due now.
  Millis failed() {
    delay_ = delay_ == Millis(0) ? kBackOffFirst : std::min(2 * delay_, kBackOffLast);
    return delay_ - Millis(static_cast<Millis::rep>(dice_() % static_cast<std::uint64_t>(delay_.count() / 2 + 1)));
  }
  void succeeded() noexcept { delay_ = Millis(0); }

 private:
  Millis delay_{0};
  std::mt19937_64 dice_;
};

}  // namespace holdfast
