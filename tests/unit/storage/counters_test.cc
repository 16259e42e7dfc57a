#include "storage/counters.h"

#include "tests/doctest.h"

using namespace holdfast;

TEST_CASE("counters: a bucket ends at its power of two") {
  CHECK(PowerHistogram::bucket_of(0) == 0);
  CHECK(PowerHistogram::bucket_of(1) == 0);
  CHECK(PowerHistogram::bucket_of(2) == 1);
  CHECK(PowerHistogram::bucket_of(3) == 2);
  CHECK(PowerHistogram::bucket_of(1024) == 10);
  CHECK(PowerHistogram::bucket_of(1025) == 11);
  CHECK(PowerHistogram::bucket_of(UINT64_MAX) == HistogramView::kBuckets - 1);
}

TEST_CASE("counters: a histogram counts, adds up and finds quantiles by their bucket") {
  PowerHistogram histogram;
  CHECK(histogram.view().quantile(0.5) == 0);
  histogram.observe(3, 98);
  histogram.observe(1000, 2);
  const HistogramView view = histogram.view();
  CHECK(view.count() == 100);
  CHECK(view.sum == 3 * 98 + 2000);
  CHECK(view.quantile(0.5) == 4);
  CHECK(view.quantile(0.98) == 4);
  CHECK(view.quantile(0.99) == 1024);
}

TEST_CASE("counters: the difference of two views is what came between") {
  PowerHistogram histogram;
  histogram.observe(7, 5);
  const HistogramView before = histogram.view();
  histogram.observe(7);
  histogram.observe(100);
  HistogramView between = histogram.view();
  between -= before;
  CHECK(between.count() == 2);
  CHECK(between.sum == 107);
  between += before;
  CHECK(between.count() == 7);
}
