// When to try again what failed outside the live segment: after 1 s, then twice as long each time, up to 30 s. A value.
#pragma once

#include "storage/limits.h"

namespace holdfast {

class RetryTimer {
 public:
  bool waiting(std::chrono::nanoseconds boot) const noexcept { return boot < due_; }
  /// When it may be tried again; 0 when it did not fail.
  std::chrono::nanoseconds due() const noexcept { return due_; }
  void failed(std::chrono::nanoseconds boot) noexcept {
    delay_ = delay_ == Millis(0) ? kRetryFirst : std::min(2 * delay_, kRetryLast);
    due_ = boot + delay_;
  }
  void succeeded() noexcept { *this = RetryTimer(); }

 private:
  Millis delay_{0};
  std::chrono::nanoseconds due_{0};
};

}  // namespace holdfast
