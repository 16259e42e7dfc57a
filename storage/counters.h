// Numbers that one thread writes and any thread may read: counters, gauges, and histograms with buckets of powers of two.
// A write is a plain load and store without a lock prefix; a reader sees each number whole, and several of them as they
// are at about the same time.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace holdfast {

/// Counts up, or holds what was last set.
class Counter {
 public:
  /// The writing thread only.
  void add(std::uint64_t count = 1) noexcept { set(value() + count); }
  void set(std::uint64_t value) noexcept { value_.store(value, std::memory_order_relaxed); }
  /// Any thread.
  std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// What a histogram held when it was read. Values, which add and subtract.
struct HistogramView {
  static constexpr std::size_t kBuckets = 42;
  /// Bucket k counts values above 2^(k-1) and up to 2^k; the last one also all above.
  std::array<std::uint64_t, kBuckets> buckets{};
  std::uint64_t sum = 0;

  std::uint64_t count() const noexcept {
    std::uint64_t count = 0;
    for (const std::uint64_t bucket : buckets) count += bucket;
    return count;
  }
  HistogramView& operator+=(const HistogramView& other) noexcept {
    for (std::size_t i = 0; i < kBuckets; ++i) buckets[i] += other.buckets[i];
    sum += other.sum;
    return *this;
  }
  /// REQUIRES: `earlier` is the same histogram, read before.
  HistogramView& operator-=(const HistogramView& earlier) noexcept {
    for (std::size_t i = 0; i < kBuckets; ++i) buckets[i] -= earlier.buckets[i];
    sum -= earlier.sum;
    return *this;
  }
  /// The upper bound of the bucket in which this share (0..1) of the values ends; 0 when there are none.
  std::uint64_t quantile(double share) const noexcept;
};

class PowerHistogram {
 public:
  /// The writing thread only: a value that was seen so many times.
  void observe(std::uint64_t value, std::uint64_t times = 1) noexcept {
    buckets_[bucket_of(value)].add(times);
    sum_.add(value * times);
  }
  /// Any thread.
  HistogramView view() const noexcept;

  static constexpr std::size_t bucket_of(std::uint64_t value) noexcept {
    const auto bucket = value < 2 ? 0U : static_cast<std::size_t>(std::bit_width(value - 1));
    return bucket < HistogramView::kBuckets ? bucket : HistogramView::kBuckets - 1;
  }

 private:
  std::array<Counter, HistogramView::kBuckets> buckets_;
  Counter sum_;
};

}  // namespace holdfast
