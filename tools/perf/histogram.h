// Durations, counted into buckets whose width grows with the value.
//
// Log-linear, after Gil Tene's HdrHistogram (hdrhistogram.org): every octave [2^k, 2^(k+1)) has 128
// buckets of equal width, so a bucket is at most 1/128 of its value wide and a percentile is at
// most 0.8 % too high, never too low. Values below 256 are exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ringtail::perf {

// Owned by one thread. Values are nanoseconds by convention; any unit works.
class Histogram {
 public:
  Histogram();

  void record(std::uint64_t value) {
    ++buckets_[bucket_of(value)];
    ++count_;
    if (value > max_) max_ = value;
    if (value < min_) min_ = value;
  }
  void add(const Histogram& other);
  void clear();

  std::uint64_t count() const { return count_; }
  std::uint64_t max() const { return max_; }                    // exact; 0 when empty
  std::uint64_t min() const { return count_ == 0 ? 0 : min_; }  // exact; 0 when empty
  // The smallest bucket limit that at least `percent` of the values do not exceed (never more than
  // max()); 0 when empty. `percent` is in [0, 100].
  std::uint64_t percentile(double percent) const;

 private:
  static constexpr int kBits = 7;
  static constexpr std::size_t kPerOctave = std::size_t{1} << kBits;
  static constexpr std::size_t kBuckets = (64 - kBits + 1) * kPerOctave;

  static std::size_t bucket_of(std::uint64_t value) {
    if (value < 2 * kPerOctave) return static_cast<std::size_t>(value);
    const int shift = 63 - __builtin_clzll(value) - kBits;
    return static_cast<std::size_t>(shift) * kPerOctave + static_cast<std::size_t>(value >> shift);
  }
  // The largest value that falls into the bucket.
  static std::uint64_t limit_of(std::size_t bucket);

  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  std::uint64_t max_ = 0;
  std::uint64_t min_ = UINT64_MAX;
};

// The longest silence between two events of a kind. Times are monotonic nanoseconds.
class LongestGap {
 public:
  void event(std::uint64_t now_ns) {
    if (seen_) consider(now_ns);
    last_ns_ = now_ns;
    seen_ = true;
  }
  // The run is over while more was due: the silence since the last event counts as well.
  void unfinished(std::uint64_t now_ns) {
    if (seen_) consider(now_ns);
  }
  bool seen() const { return seen_; }
  std::uint64_t last_ns() const { return last_ns_; }  // of the last event
  std::uint64_t gap_ns() const { return gap_ns_; }
  std::uint64_t began_ns() const { return began_ns_; }  // when the longest silence began

 private:
  void consider(std::uint64_t now_ns) {
    if (now_ns - last_ns_ <= gap_ns_) return;
    gap_ns_ = now_ns - last_ns_;
    began_ns_ = last_ns_;
  }

  bool seen_ = false;
  std::uint64_t last_ns_ = 0;
  std::uint64_t gap_ns_ = 0;
  std::uint64_t began_ns_ = 0;
};

}  // namespace ringtail::perf
