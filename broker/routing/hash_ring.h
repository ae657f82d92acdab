// A consistent hash: spreads hashes over targets in proportion to their weights, so that adding,
// removing or re-weighting one target moves only what comes to it or leaves it. What it answers
// depends on its targets' names and weights alone, not on the order in which they came, so every
// replica that holds the same bindings answers the same.
//
// Each target has points on a ring, kPointsPerWeight for each unit of weight, at hashes of its
// name. A hash looks from kProbes places on the ring (multi-probe consistent hashing, Appleton and
// O'Reilly 2015) and takes the point that lies closest ahead of one of them: few points then divide
// the ring as evenly as many would, to about 1.5 % for a weight of 1.
//
// Memory is bounded: above kPointsMax points in all, every weight has half as many points, and so
// on; then a target may get somewhat more or less than its weight asks for, and the step itself
// moves more.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "broker/routing/target_set.h"

namespace ringtail::broker {

// Lives in its exchange's index, on one shard.
class HashRing {
 public:
  static constexpr std::uint64_t kPointsPerWeight = 256;
  static constexpr std::uint64_t kPointsMax = 1 << 19;
  static constexpr int kProbes = 8;

  // `seed` is a hash of the target's name, no other target's. At most 2^20 targets.
  void add(const Target& target, std::uint64_t seed, std::uint32_t weight);
  void remove(const Target& target);

  bool empty() const { return points_.empty(); }
  // The ring must not be empty.
  const Target& find(std::uint64_t hash) const;
  std::size_t points() const { return points_.size(); }

 private:
  // A place on the ring in the high bits, the target's slot in the low ones: sorted by place.
  using Point = std::uint64_t;
  static constexpr int kSlotBits = 20;

  struct Slot {
    const Target* target = nullptr;  // null: free
    std::uint64_t seed = 0;
    std::uint32_t weight = 0;
  };

  std::uint64_t points_of(const Slot& slot) const;
  static Point point_of(const Slot& slot, std::uint64_t number, std::uint64_t slot_number);
  // Brings the scale to what the weights ask for; true: it has changed.
  bool rescale();
  void rebuild();
  void merge(const Slot& slot, std::uint64_t slot_number);
  std::size_t first_from(Point place) const;

  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::unordered_map<const Target*, std::uint32_t> slot_of_;
  std::uint64_t total_weight_ = 0;
  int halvings_ = 0;  // of the points per weight
  std::vector<Point> points_;
};

}  // namespace ringtail::broker
