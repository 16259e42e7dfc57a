// How fast a counter grows, over the last second or so: looked at now and then, never per event. One thread.
#pragma once

#include "protocol/types.h"

namespace holdfast {

class RateMeter {
 public:
  /// Looks at the counter. Looks that follow closely are one.
  void look(std::uint64_t counter, Millis now) noexcept {
    const auto passed = (now - at_).count();
    if (begun_ && passed < kApart.count()) return;
    if (begun_ && counter >= last_) rate_ = static_cast<double>(counter - last_) * 1000.0 / static_cast<double>(passed);
    begun_ = true;
    last_ = counter;
    at_ = now;
  }
  double per_second() const noexcept { return rate_; }

 private:
  static constexpr Millis kApart{500};
  std::uint64_t last_ = 0;
  Millis at_{};
  double rate_ = 0;
  bool begun_ = false;
};

}  // namespace holdfast
