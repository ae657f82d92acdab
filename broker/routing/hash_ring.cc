#include "broker/routing/hash_ring.h"

#include <algorithm>
#include <utility>

#include "broker/routing/stable_hash.h"
#include "broker/runtime/check.h"

namespace ringtail::broker {

std::uint64_t HashRing::points_of(const Slot& slot) const {
  return std::max<std::uint64_t>(1, (slot.weight * kPointsPerWeight) >> halvings_);
}

HashRing::Point HashRing::point_of(const Slot& slot, std::uint64_t number,
                                   std::uint64_t slot_number) {
  const std::uint64_t place = mix_hash(slot.seed + number * 0x9E3779B97F4A7C15ULL);
  return (place >> kSlotBits << kSlotBits) | slot_number;
}

bool HashRing::rescale() {
  int wanted = 0;
  while ((total_weight_ * kPointsPerWeight) >> wanted > kPointsMax) ++wanted;
  return std::exchange(halvings_, wanted) != wanted;
}

void HashRing::add(const Target& target, std::uint64_t seed, std::uint32_t weight) {
  std::uint32_t number = static_cast<std::uint32_t>(slots_.size());
  if (free_.empty()) {
    RT_CHECK(number < 1U << kSlotBits, "too many targets of a consistent hash");
    slots_.emplace_back();
  } else {
    number = free_.back();
    free_.pop_back();
  }
  slots_[number] = {&target, seed, weight};
  slot_of_[&target] = number;
  total_weight_ += weight;
  if (rescale()) {
    rebuild();
  } else {
    merge(slots_[number], number);
  }
}

void HashRing::remove(const Target& target) {
  const auto found = slot_of_.find(&target);
  RT_CHECK(found != slot_of_.end(), "a target is removed that was never added");
  const std::uint32_t number = found->second;
  slot_of_.erase(found);
  total_weight_ -= slots_[number].weight;
  slots_[number] = {};
  free_.push_back(number);
  if (rescale()) {
    rebuild();
    return;
  }
  constexpr std::uint64_t kSlotMask = (1ULL << kSlotBits) - 1;
  std::erase_if(points_, [number](Point point) { return (point & kSlotMask) == number; });
  if (points_.capacity() > 4 * points_.size()) points_.shrink_to_fit();
}

void HashRing::rebuild() {
  points_.clear();
  for (std::size_t number = 0; number < slots_.size(); ++number) {
    if (slots_[number].target == nullptr) continue;
    for (std::uint64_t i = 0; i < points_of(slots_[number]); ++i) {
      points_.push_back(point_of(slots_[number], i, number));
    }
  }
  std::sort(points_.begin(), points_.end());
}

void HashRing::merge(const Slot& slot, std::uint64_t slot_number) {
  const auto middle = static_cast<std::ptrdiff_t>(points_.size());
  for (std::uint64_t i = 0; i < points_of(slot); ++i) {
    points_.push_back(point_of(slot, i, slot_number));
  }
  std::sort(points_.begin() + middle, points_.end());
  std::inplace_merge(points_.begin(), points_.begin() + middle, points_.end());
}

// Points lie evenly, so a guess is close; the search widens around it.
std::size_t HashRing::first_from(Point place) const {
  const std::size_t size = points_.size();
  const auto guess = static_cast<std::size_t>(reduce_hash(place, size));
  std::size_t low = guess;
  std::size_t high = guess;
  for (std::size_t step = 8; low > 0 && points_[low - 1] >= place; step *= 2) {
    low = low > step ? low - step : 0;
  }
  for (std::size_t step = 8; high < size && points_[high] < place; step *= 2) {
    high = std::min(high + step, size);
  }
  const auto begin = points_.begin() + static_cast<std::ptrdiff_t>(low);
  const auto end = points_.begin() + static_cast<std::ptrdiff_t>(high);
  return static_cast<std::size_t>(std::lower_bound(begin, end, place) - points_.begin());
}

const Target& HashRing::find(std::uint64_t hash) const {
  Point closest = 0;
  std::uint64_t least = ~std::uint64_t{0};
  for (int probe = 0; probe < kProbes; ++probe) {
    const Point place = mix_hash(hash + static_cast<std::uint64_t>(probe) * 0xD1B54A32D192ED03ULL);
    const std::size_t at = first_from(place);
    const Point point = points_[at == points_.size() ? 0 : at];  // the ring closes
    if (point - place <= least) {
      least = point - place;
      closest = point;
    }
  }
  return *slots_[closest & ((1ULL << kSlotBits) - 1)].target;
}

}  // namespace ringtail::broker
