// Which numbers of a sequence have been seen. The numbers come nearly in order, so only a window of
// bits is kept: everything below it has been seen. A hole that never fills holds the window open at
// one bit a number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ringtail::perf {

class SequenceSet {
 public:
  // False: it was there before.
  bool add(std::uint64_t number) {
    const std::uint64_t word = number / 64;
    if (word < base_) return false;
    const std::size_t at = first_ + static_cast<std::size_t>(word - base_);
    if (at >= words_.size()) return add_beyond(number);
    const std::uint64_t bit = std::uint64_t{1} << (number % 64);
    if ((words_[at] & bit) != 0) return false;
    words_[at] |= bit;
    ++count_;
    if (number >= end_) end_ = number + 1;
    if (words_[at] == ~std::uint64_t{0} && at == first_) slide();
    return true;
  }
  bool contains(std::uint64_t number) const {
    const std::uint64_t word = number / 64;
    if (word < base_) return true;
    const std::uint64_t at = first_ + (word - base_);
    return at < words_.size() && ((words_[static_cast<std::size_t>(at)] >> (number % 64)) & 1) != 0;
  }
  std::uint64_t count() const { return count_; }
  // The highest number seen, plus one; 0 when empty.
  std::uint64_t end() const { return end_; }
  // All numbers below this have been seen; a lower bound, rounded down to 64.
  std::uint64_t full_below() const { return base_ * 64; }
  // Bits kept, for tests.
  std::size_t window_words() const { return words_.size() - first_; }

 private:
  bool add_beyond(std::uint64_t number);
  void slide();

  std::vector<std::uint64_t> words_;  // from first_ on: the window
  std::size_t first_ = 0;
  std::uint64_t base_ = 0;  // number of words below the window, all full
  std::uint64_t count_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace ringtail::perf
