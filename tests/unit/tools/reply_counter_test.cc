#include "tools/reply_counter.h"

#include "tools/histogram.h"

#include "tests/doctest.h"

using namespace holdfast;

TEST_CASE("reply counter: whole replies by kind, in any pieces") {
  constexpr std::string_view kStream =
      ":5\r\n:-1\r\n+OK\r\n-ERR no\r\n$3\r\na\r\n\r\n$-1\r\n*2\r\n:-7\r\n*1\r\n$0\r\n\r\n%1\r\n+k\r\n:1\r\n*0\r\n_\r\n";
  for (std::size_t piece = 1; piece <= kStream.size(); ++piece) {
    ReplyCounter counter;
    std::uint64_t whole = 0;
    for (std::size_t at = 0; at < kStream.size(); at += piece) whole += counter.feed(kStream.substr(at, piece));
    CHECK(whole == 10);
    CHECK(counter.counts().replies == 10);
    CHECK(counter.counts().successes == 1);
    CHECK(counter.counts().refusals == 1);
    CHECK(counter.counts().errors == 1);
    CHECK_FALSE(counter.broken());
  }
  ReplyCounter counter;
  counter.feed("HTTP/1.1 400\r\n");
  CHECK(counter.broken());
}

TEST_CASE("histogram: percentiles are within one part in 128 and never below") {
  Histogram histogram;
  CHECK(histogram.percentile(0.5) == 0);
  for (std::uint64_t value = 1; value <= 100'000; ++value) histogram.add(value);
  for (const double share : {0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto exact = static_cast<std::uint64_t>(share * 100'000);
    CHECK(histogram.percentile(share) >= exact);
    CHECK(histogram.percentile(share) <= exact + exact / 128 + 1);
  }
  CHECK(histogram.max() == 100'000);
  Histogram other;
  other.add(UINT64_MAX);
  other += histogram;
  CHECK(other.count() == 100'001);
  CHECK(other.percentile(1.0) == UINT64_MAX);
}
