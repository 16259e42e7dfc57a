// Which connections may begin: how many there are on all threads, and from each address. A shell with a lock that is held
// for a moment, when a connection begins or ends; any thread.
#pragma once

#include "server/address_counts.h"

#include <atomic>
#include <mutex>
#include <optional>

namespace holdfast {

class Admissions {
 public:
  enum class Verdict : std::uint8_t { admitted, too_many, too_many_from_there };

  /// Counts one more from this address, unless there are so many already. `address_max`: 0 for any number.
  Verdict admit(std::string_view host, std::uint64_t max, std::uint64_t address_max) {
    const std::lock_guard lock(mutex_);
    if (open_.load(std::memory_order_relaxed) >= max) return Verdict::too_many;
    if (address_max > 0 && addresses_.of(host) >= address_max) return Verdict::too_many_from_there;
    addresses_.add(host);
    open_.fetch_add(1, std::memory_order_acq_rel);
    return Verdict::admitted;
  }
  /// REQUIRES: it was admitted.
  void leave(std::string_view host) {
    const std::lock_guard lock(mutex_);
    addresses_.remove(host);
    open_.fetch_sub(1, std::memory_order_acq_rel);
  }
  std::uint64_t open_count() const noexcept { return open_.load(std::memory_order_acquire); }
  /// A number that no other connection has.
  std::uint64_t next_id() noexcept { return next_id_.fetch_add(1, std::memory_order_relaxed); }

 private:
  std::mutex mutex_;
  AddressCounts addresses_;
  std::atomic<std::uint64_t> open_{0};
  std::atomic<std::uint64_t> next_id_{1};
};

}  // namespace holdfast
