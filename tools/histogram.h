// A histogram of durations with a relative error below 1%, in fixed memory (the idea of HdrHistogram): 128 buckets of
// equal width for each power of two. One thread; histograms of several are added up.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace holdfast {

class Histogram {
 public:
  void add(std::uint64_t value) noexcept {
    ++counts_[index_of(value)];
    ++count_;
    max_ = std::max(max_, value);
  }

  Histogram& operator+=(const Histogram& other) noexcept {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    max_ = std::max(max_, other.max_);
    return *this;
  }

  std::uint64_t count() const noexcept { return count_; }
  std::uint64_t max() const noexcept { return max_; }

  /// The value that `share` (0..1) of all values do not exceed, rounded up to its bucket's end; 0 when there are none.
  std::uint64_t percentile(double share) const noexcept {
    const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen >= wanted && seen > 0) return std::min(end_of(i), max_);
    }
    return max_;
  }

 private:
  static constexpr int kBits = 7;  // of a bucket's place within its power of two
  static constexpr std::size_t kWidth = std::size_t{1} << kBits;

  static std::size_t index_of(std::uint64_t value) noexcept {
    if (value < kWidth) return value;
    const int shift = static_cast<int>(std::bit_width(value)) - kBits - 1;
    return (static_cast<std::size_t>(shift + 1) << kBits) + ((value >> shift) & (kWidth - 1));
  }
  static std::uint64_t end_of(std::size_t index) noexcept {
    if (index < kWidth) return index;
    const auto shift = (index >> kBits) - 1;
    return (((index & (kWidth - 1)) + kWidth + 1) << shift) - 1;
  }

  std::array<std::uint64_t, kWidth*(64 - kBits + 1)> counts_{};
  std::uint64_t count_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace holdfast
