// A set of numbers as ranges: what was removed comes mostly in runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace ringtail::queue::store {

class RangeSet {
 public:
  // From `first` to `last`, both in it; what was in it already stays. How many were new.
  std::uint64_t add(std::uint64_t first, std::uint64_t last);
  bool contains(std::uint64_t number) const;
  bool empty() const { return ranges_.empty(); }
  void clear() { ranges_.clear(); }
  // Last by first, ascending, neither touching nor overlapping.
  const std::map<std::uint64_t, std::uint64_t>& ranges() const { return ranges_; }
  bool operator==(const RangeSet&) const = default;

 private:
  std::map<std::uint64_t, std::uint64_t> ranges_;
};

}  // namespace ringtail::queue::store
