#include "queue/store/range_set.h"

#include <algorithm>
#include <iterator>

#include "broker/runtime/check.h"

namespace ringtail::queue::store {

std::uint64_t RangeSet::add(std::uint64_t first, std::uint64_t last) {
  RT_CHECK(first <= last, "a range that ends before it begins");
  auto from = ranges_.upper_bound(first);
  if (from != ranges_.begin()) {
    const auto before = std::prev(from);
    if (before->second >= last) return 0;
    if (before->second >= first || before->second + 1 == first) from = before;
  }
  // What overlaps or touches the new range becomes one with it.
  std::uint64_t begin = first;
  std::uint64_t end = last;
  std::uint64_t added = last - first + 1;
  auto to = from;
  for (; to != ranges_.end() && (to->first <= last || to->first - 1 == last); ++to) {
    const std::uint64_t common_first = std::max(first, to->first);
    const std::uint64_t common_last = std::min(last, to->second);
    if (common_first <= common_last) added -= common_last - common_first + 1;
    begin = std::min(begin, to->first);
    end = std::max(end, to->second);
  }
  if (from != to && from->first == begin) {
    from->second = end;
    ranges_.erase(std::next(from), to);
  } else {
    ranges_.emplace_hint(ranges_.erase(from, to), begin, end);
  }
  return added;
}

bool RangeSet::contains(std::uint64_t number) const {
  const auto behind = ranges_.upper_bound(number);
  return behind != ranges_.begin() && std::prev(behind)->second >= number;
}

}  // namespace ringtail::queue::store
