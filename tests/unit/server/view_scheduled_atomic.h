// The atomics of views and filters in the tests of interleavings: another task may run before every access. A relaxed
// load by the owner is of what only he writes, so that it does not matter when it is done.
#pragma once

#include "tests/unit/server/view_scheduler.h"

namespace holdfast {

template <class T>
class ViewAtomic {
 public:
  ViewAtomic() noexcept = default;
  ViewAtomic(T value) noexcept : value_(value) {}  // NOLINT(google-explicit-constructor): as std::atomic
  ViewAtomic(const ViewAtomic&) = delete;
  ViewAtomic& operator=(const ViewAtomic&) = delete;

  T load(std::memory_order order) const noexcept {
    testing::ViewScheduler::access(order == std::memory_order_relaxed);
    return value_;
  }
  void store(T value, std::memory_order) noexcept {
    testing::ViewScheduler::access(false);
    value_ = value;
  }
  T exchange(T value, std::memory_order) noexcept {
    testing::ViewScheduler::access(false);
    const T before = value_;
    value_ = value;
    return before;
  }

 private:
  T value_{};
};

}  // namespace holdfast
