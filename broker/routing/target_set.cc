#include "broker/routing/target_set.h"

#include "broker/runtime/check.h"

namespace ringtail::broker {

namespace {

// Up to here a search is as fast as a hash.
constexpr std::size_t kSearchedMax = 16;

}  // namespace

std::size_t TargetSet::Many::place_of(const Target& target) const {
  if (places != nullptr) {
    const auto found = places->find(&target);
    return found == places->end() ? kNowhere : found->second;
  }
  for (std::size_t place = 0; place < entries.size(); ++place) {
    if (entries[place].target == &target) return place;
  }
  return kNowhere;
}

void TargetSet::Many::append(const Entry& entry) {
  entries.push_back(entry);
  if (places != nullptr) {
    places->emplace(entry.target, entries.size() - 1);
  } else if (entries.size() > kSearchedMax) {
    places = std::make_unique<std::unordered_map<const Target*, std::size_t>>();
    for (std::size_t i = 0; i < entries.size(); ++i) places->emplace(entries[i].target, i);
  }
}

void TargetSet::Many::remove(std::size_t place) {
  const Target* target = entries[place].target;
  entries[place] = entries.back();
  entries.pop_back();
  if (places == nullptr) return;
  places->erase(target);
  if (entries.size() <= kSearchedMax / 2) {
    places.reset();
  } else if (place < entries.size()) {
    (*places)[entries[place].target] = place;
  }
}

void TargetSet::add(const Target& target) {
  if (empty()) {
    only_ = {&target, 1};
    return;
  }
  if (many_ == nullptr) {
    if (only_.target == &target) {
      ++only_.bindings;
      return;
    }
    many_ = std::make_unique<Many>();
    many_->append(only_);
    only_ = {};
  }
  const std::size_t place = many_->place_of(target);
  if (place == Many::kNowhere) {
    many_->append({&target, 1});
  } else {
    ++many_->entries[place].bindings;
  }
}

void TargetSet::remove(const Target& target) {
  if (many_ == nullptr) {
    RT_CHECK(only_.target == &target, "a binding is removed that was never added");
    if (--only_.bindings == 0) only_ = {};
    return;
  }
  const std::size_t place = many_->place_of(target);
  RT_CHECK(place != Many::kNowhere, "a binding is removed that was never added");
  if (--many_->entries[place].bindings > 0) return;
  many_->remove(place);
  if (many_->entries.size() == 1) {
    only_ = many_->entries.front();
    many_.reset();
  }
}

}  // namespace ringtail::broker
