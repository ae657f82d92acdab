#include "tools/perf/sequence_set.h"

#include <algorithm>

namespace ringtail::perf {

bool SequenceSet::add_beyond(std::uint64_t number) {
  if (first_ > 0) {
    words_.erase(words_.begin(), words_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  const std::size_t needed = static_cast<std::size_t>(number / 64 - base_) + 1;
  // Room ahead in steps keeps the erase above rare: once in a thousand words at the least.
  if (needed > words_.size()) words_.resize(std::max(needed, words_.size() * 2) + 1024, 0);
  return add(number);
}

void SequenceSet::slide() {
  while (first_ < words_.size() && words_[first_] == ~std::uint64_t{0}) {
    ++first_;
    ++base_;
  }
}

}  // namespace ringtail::perf
