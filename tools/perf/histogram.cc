#include "tools/perf/histogram.h"

#include <algorithm>
#include <cmath>

namespace ringtail::perf {

Histogram::Histogram() : buckets_(kBuckets, 0) {}

void Histogram::add(const Histogram& other) {
  if (other.count_ == 0) return;
  for (std::size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  max_ = std::max(max_, other.max_);
  min_ = std::min(min_, other.min_);
}

void Histogram::clear() {
  if (count_ == 0) return;
  std::fill(buckets_.begin(), buckets_.end(), 0);
  count_ = 0;
  max_ = 0;
  min_ = UINT64_MAX;
}

std::uint64_t Histogram::percentile(double percent) const {
  if (count_ == 0) return 0;
  const double exact = std::ceil(static_cast<double>(count_) * percent / 100.0);
  const std::uint64_t wanted = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(exact));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += buckets_[i];
    if (seen >= wanted) return std::min(limit_of(i), max_);
  }
  return max_;
}

std::uint64_t Histogram::limit_of(std::size_t bucket) {
  if (bucket < 2 * kPerOctave) return bucket;
  const std::size_t shift = bucket / kPerOctave - 1;
  const std::uint64_t first = (bucket % kPerOctave + kPerOctave) << shift;
  return first + ((std::uint64_t{1} << shift) - 1);
}

}  // namespace ringtail::perf
