#include "queue/unacked.h"

#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/memory_gauge.h"
#include "queue/channel_link.h"

namespace ringtail::queue {

namespace {

// A token: attempt in the upper bits, index of the slot in the lower. A thousand million
// deliveries can be held; attempts repeat after 17 thousand million, and an old token does harm
// only when exactly so many later its slot is used again.
constexpr unsigned kIndexBits = 30;
constexpr std::uint64_t kIndexMask = (std::uint64_t{1} << kIndexBits) - 1;

}  // namespace

Unacked::~Unacked() {
  RT_CHECK(count_ == 0, "deliveries must be released before their table");
  free_.clear();
  runtime::MemoryGauge::add(-static_cast<std::int64_t>(chunks_.size() * sizeof(Chunk)));
}

DeliveryToken Unacked::hold(Entry entry, Terms terms, ChannelLink& link, Consumer* consumer) {
  if (free_.empty()) grow();
  UnackedSlot& slot = free_.front();
  free_.pop_front();
  if (++attempts_ >> (64 - kIndexBits) != 0) attempts_ = 1;
  slot.token = attempts_ << kIndexBits | (slot.token & kIndexMask);
  slot.entry = std::move(entry);
  slot.terms = terms;
  slot.consumer = consumer;
  slot.link = &link;
  link.held.push_back(slot);
  ++count_;
  return slot.token;
}

Unacked::Held Unacked::release(DeliveryToken token, ChannelLink& link) {
  const std::size_t index = token & kIndexMask;
  if (index >> kChunkBits >= chunks_.size()) return {};
  UnackedSlot& slot = (*chunks_[index >> kChunkBits])[index & (kChunkSlots - 1)];
  if (slot.link != &link || slot.token != token) return {};
  return release(slot, link);
}

Unacked::Held Unacked::release_first(ChannelLink& link) {
  if (link.held.empty()) return {};
  return release(link.held.front(), link);
}

Unacked::Held Unacked::release(UnackedSlot& slot, ChannelLink& link) {
  Held held{std::move(slot.entry), slot.terms, slot.consumer};
  slot.consumer = nullptr;
  slot.link = nullptr;
  link.held.erase(link.held.iterator_to(slot));
  free_.push_front(slot);
  --count_;
  return held;
}

void Unacked::grow() {
  const std::size_t first = chunks_.size() * kChunkSlots;
  RT_CHECK(first + kChunkSlots <= kIndexMask, "too many deliveries are unacknowledged");
  chunks_.push_back(std::make_unique<Chunk>());
  runtime::MemoryGauge::add(sizeof(Chunk));
  Chunk& chunk = *chunks_.back();
  for (std::size_t at = 0; at < kChunkSlots; ++at) {
    chunk[at].token = first + at;
    free_.push_back(chunk[at]);
  }
}

void Unacked::trim() {
  if (count_ != 0 || chunks_.size() <= 1) return;
  free_.clear();
  runtime::MemoryGauge::add(-static_cast<std::int64_t>(chunks_.size() * sizeof(Chunk)));
  std::vector<std::unique_ptr<Chunk>>().swap(chunks_);
  // The attempts go on counting, so that tokens of the slots that are gone stay unknown.
  grow();
}

}  // namespace ringtail::queue
