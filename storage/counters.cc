#include "storage/counters.h"

namespace holdfast {

std::uint64_t HistogramView::quantile(double share) const noexcept {
  const auto wanted = static_cast<double>(count()) * share;
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += buckets[i];
    if (buckets[i] > 0 && static_cast<double>(seen) >= wanted) return std::uint64_t{1} << i;
  }
  return 0;
}

HistogramView PowerHistogram::view() const noexcept {
  HistogramView view;
  for (std::size_t i = 0; i < HistogramView::kBuckets; ++i) view.buckets[i] = buckets_[i].value();
  view.sum = sum_.value();
  return view;
}

}  // namespace holdfast
