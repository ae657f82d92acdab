#include "queue/store/segment_table.h"

#include <algorithm>
#include <utility>

#include "broker/runtime/check.h"

namespace ringtail::queue::store {

Segment& SegmentTable::begin(std::uint8_t lane, std::uint64_t salt) {
  auto made = std::make_unique<Segment>();
  Segment& segment = *made;
  segment.state.number = next_++;
  segment.state.lane = lane;
  segment.salt = salt;
  by_number_.emplace(segment.state.number, std::move(made));
  open_[lane] = &segment;
  ++dead_;  // as long as it is empty
  return segment;
}

Segment* SegmentTable::open(std::uint8_t lane) {
  const auto at = open_.find(lane);
  return at == open_.end() ? nullptr : at->second;
}

void SegmentTable::added(std::uint8_t lane, std::uint64_t number, const MessageFacts& facts,
                         std::uint64_t bytes) {
  Segment* segment = open(lane);
  RT_CHECK(segment != nullptr, "a message without a segment");
  SegmentState& state = segment->state;
  if (state.first == 0) {
    state.first = number;
    lanes_[lane].emplace(number, segment);
  }
  RT_DCHECK(number > state.last, "messages of a lane that are written out of order");
  state.last = number;
  state.bytes += bytes;
  if (segment->alive++ == 0) --dead_;
  ++segment->records;
  if (facts.persistent) {
    ++state.live;
    state.live_bytes += facts.body_size;
    if (facts.expires) ++state.expiring;
  } else {
    segment->has_transient = true;
  }
  mark_dirty(*segment);
}

Segment* SegmentTable::holder(Position position) {
  const std::uint64_t number = number_of(position);
  const std::uint8_t lane = lane_of(position);
  if (last_ != nullptr && last_->state.lane == lane && last_->state.first <= number &&
      number <= last_->state.last) {
    return last_;
  }
  const auto at = lanes_.find(lane);
  if (at == lanes_.end()) return nullptr;
  const auto behind = at->second.upper_bound(number);
  if (behind == at->second.begin()) return nullptr;
  Segment* segment = std::prev(behind)->second;
  if (segment->state.last < number) return nullptr;
  last_ = segment;
  return segment;
}

void SegmentTable::removed(Position position, const MessageFacts& facts) {
  Segment* segment = holder(position);
  if (segment == nullptr) return;
  const std::uint64_t number = number_of(position);
  SegmentState& state = segment->state;
  if (state.removed.add(number, number) == 0) return;
  RT_CHECK(segment->alive > 0, "more leaves a segment than was in it");
  if (--segment->alive == 0) ++dead_;
  may_be_sparse_ |= is_sparse(*segment);
  if (facts.persistent) {
    --state.live;
    state.live_bytes -= facts.body_size;
    if (facts.expires) --state.expiring;
  }
  mark_dirty(*segment);
}

void SegmentTable::removed_all_but(std::span<const Kept> kept) {
  dead_ = 0;
  for (auto& [number, segment] : by_number_) {
    SegmentState& state = segment->state;
    state.removed.clear();
    segment->alive = 0;
    state.live = 0;
    state.live_bytes = 0;
    state.expiring = 0;
    mark_dirty(*segment);
  }
  std::map<Segment*, std::vector<std::uint64_t>> alive;
  for (const Kept& one : kept) {
    Segment* segment = holder(one.position);
    if (segment == nullptr) continue;
    alive[segment].push_back(number_of(one.position));
    ++segment->alive;
    if (!one.facts.persistent) continue;
    ++segment->state.live;
    segment->state.live_bytes += one.facts.body_size;
    if (one.facts.expires) ++segment->state.expiring;
  }
  for (auto& [number, segment] : by_number_) {
    SegmentState& state = segment->state;
    if (segment->dead()) ++dead_;
    if (state.first == 0) continue;
    std::vector<std::uint64_t>& numbers = alive[segment.get()];
    std::sort(numbers.begin(), numbers.end());
    std::uint64_t from = state.first;
    for (const std::uint64_t one : numbers) {
      if (one > from) state.removed.add(from, one - 1);
      from = one + 1;
    }
    if (from <= state.last) state.removed.add(from, state.last);
  }
}

Segment* SegmentTable::at_or_behind(Position position) {
  if (Segment* segment = holder(position)) return segment;
  const auto at = lanes_.find(lane_of(position));
  if (at == lanes_.end()) return nullptr;
  const auto behind = at->second.lower_bound(number_of(position));
  return behind == at->second.end() ? nullptr : behind->second;
}

Segment* SegmentTable::find(std::uint64_t segment_number) {
  const auto at = by_number_.find(segment_number);
  return at == by_number_.end() ? nullptr : at->second.get();
}

std::vector<std::unique_ptr<Segment>> SegmentTable::take_dead(bool all) {
  std::vector<std::unique_ptr<Segment>> out;
  if (dead_ == 0) return out;
  for (auto at = by_number_.begin(); at != by_number_.end();) {
    Segment* segment = at->second.get();
    const bool is_open = open(segment->state.lane) == segment;
    if (!segment->dead() || (is_open && !all)) {
      ++at;
      continue;
    }
    if (is_open) open_.erase(segment->state.lane);
    if (segment->state.first != 0) lanes_[segment->state.lane].erase(segment->state.first);
    if (last_ == segment) last_ = nullptr;
    --dead_;
    out.push_back(std::move(at->second));
    at = by_number_.erase(at);
  }
  return out;
}

std::vector<const SegmentState*> SegmentTable::take_dirty() {
  std::vector<const SegmentState*> out;
  if (!std::exchange(dirty_, false)) return out;
  for (auto& [number, segment] : by_number_) {
    if (!std::exchange(segment->dirty, false)) continue;
    segment->in_index = true;
    out.push_back(&segment->state);
  }
  return out;
}

std::vector<const SegmentState*> SegmentTable::all() const {
  std::vector<const SegmentState*> out;
  for (const auto& [number, segment] : by_number_) out.push_back(&segment->state);
  return out;
}

void SegmentTable::restore(const IndexState& state) {
  next_ = state.next_segment;
  for (const auto& [number, kept] : state.segments) {
    auto made = std::make_unique<Segment>();
    made->state = kept;
    made->alive = kept.live;
    made->records = kept.last - kept.first + 1;
    may_be_sparse_ = true;
    made->restored = true;
    made->in_index = true;
    if (made->dead()) ++dead_;
    lanes_[kept.lane].emplace(kept.first, made.get());
    by_number_.emplace(number, std::move(made));
  }
}

std::vector<std::uint64_t> SegmentTable::sparse_run(
    std::uint64_t octets, std::uint64_t least,
    const std::function<std::uint64_t(std::uint8_t)>& before) {
  may_be_sparse_ = false;
  std::vector<std::uint64_t> run;
  for (const auto& [lane, segments] : lanes_) {
    std::uint64_t size = 0;
    const std::uint64_t end = before(lane);
    for (const auto& [first, segment] : segments) {
      const SegmentState& state = segment->state;
      const bool takes =
          is_sparse(*segment) && state.bytes >= least && state.last < end && open(lane) != segment;
      if (takes) size += state.bytes / segment->records * segment->alive;
      if (takes && size <= octets) {
        run.push_back(state.number);
        continue;
      }
      may_be_sparse_ |= takes;
      if (!run.empty()) return run;
      size = 0;
    }
    if (!run.empty()) return run;
  }
  return run;
}

void SegmentTable::replace(std::span<const std::uint64_t> old, std::unique_ptr<Segment> made,
                           std::vector<std::uint64_t>& gone, std::vector<std::uint64_t>& unknown) {
  last_ = nullptr;
  for (const std::uint64_t number : old) {
    const auto at = by_number_.find(number);
    if (at == by_number_.end()) continue;  // it died meanwhile
    const Segment& segment = *at->second;
    (segment.in_index ? gone : unknown).push_back(number);
    if (segment.dead()) --dead_;
    lanes_[segment.state.lane].erase(segment.state.first);
    by_number_.erase(at);
  }
  Segment& segment = *made;
  lanes_[segment.state.lane].emplace(segment.state.first, &segment);
  by_number_.emplace(segment.state.number, std::move(made));
  if (segment.dead()) ++dead_;
  mark_dirty(segment);
}

void SegmentTable::recounted(Segment& segment, std::uint64_t live, std::uint64_t live_bytes,
                             std::uint64_t expiring) {
  if (segment.dead()) --dead_;
  segment.alive = live;
  segment.state.live = live;
  segment.state.live_bytes = live_bytes;
  segment.state.expiring = expiring;
  if (segment.dead()) ++dead_;
  mark_dirty(segment);
}

}  // namespace ringtail::queue::store
