#include "tools/perf/histogram.h"

#include <doctest/doctest.h>

#include <cstdint>

namespace histogram_test {

using ringtail::perf::Histogram;
using ringtail::perf::LongestGap;

TEST_CASE("an empty histogram answers zero") {
  const Histogram histogram;
  CHECK(histogram.count() == 0);
  CHECK(histogram.percentile(50) == 0);
  CHECK(histogram.max() == 0);
  CHECK(histogram.min() == 0);
}

TEST_CASE("a percentile of one value is at most 1 % above it, at every size") {
  for (int shift = 0; shift < 63; ++shift) {
    for (const std::uint64_t extra : {0ULL, 1ULL, 5ULL, 77ULL}) {
      const std::uint64_t value = (std::uint64_t{1} << shift) + extra * ((1ULL << shift) / 128 + 1);
      Histogram histogram;
      histogram.record(value);
      histogram.record(UINT64_MAX);  // so that the maximum does not cut the answer
      const std::uint64_t found = histogram.percentile(50);
      CHECK(found >= value);
      CHECK(static_cast<double>(found - value) <= static_cast<double>(value) * 0.01);
    }
  }
}

TEST_CASE("small values are exact") {
  Histogram histogram;
  for (std::uint64_t value = 1; value <= 200; ++value) histogram.record(value);
  CHECK(histogram.percentile(0) == 1);
  CHECK(histogram.percentile(50) == 100);
  CHECK(histogram.percentile(99) == 198);
  CHECK(histogram.percentile(99.9) == 200);
  CHECK(histogram.percentile(100) == 200);
  CHECK(histogram.min() == 1);
}

TEST_CASE("percentiles of a uniform spread") {
  Histogram histogram;
  for (std::uint64_t value = 1; value <= 100000; ++value) histogram.record(value * 1000);
  CHECK(static_cast<double>(histogram.percentile(50)) == doctest::Approx(50000000).epsilon(0.01));
  CHECK(static_cast<double>(histogram.percentile(99)) == doctest::Approx(99000000).epsilon(0.01));
  CHECK(histogram.percentile(100) == 100000000);
  CHECK(histogram.max() == 100000000);
}

TEST_CASE("the largest value has a bucket") {
  Histogram histogram;
  histogram.record(UINT64_MAX);
  CHECK(histogram.percentile(50) == UINT64_MAX);
}

TEST_CASE("histograms add up, and start afresh") {
  Histogram sum;
  Histogram part;
  part.record(10);
  part.record(30);
  sum.add(part);
  part.clear();
  CHECK(part.count() == 0);
  CHECK(part.max() == 0);
  part.record(20);
  sum.add(part);
  CHECK(sum.count() == 3);
  CHECK(sum.percentile(50) == 20);
  CHECK(sum.min() == 10);
  CHECK(sum.max() == 30);
  CHECK(part.min() == 20);
}

TEST_CASE("the longest gap and when it began") {
  LongestGap gap;
  gap.unfinished(500);  // nothing has come: no gap to speak of
  CHECK(gap.gap_ns() == 0);
  for (const std::uint64_t at : {100ULL, 110ULL, 150ULL, 160ULL}) gap.event(at);
  CHECK(gap.gap_ns() == 40);
  CHECK(gap.began_ns() == 110);
  gap.unfinished(190);
  CHECK(gap.gap_ns() == 40);
  gap.unfinished(300);
  CHECK(gap.gap_ns() == 140);
  CHECK(gap.began_ns() == 160);
  CHECK(gap.last_ns() == 160);
}

}  // namespace histogram_test
