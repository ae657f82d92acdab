// Entries in and out at opposite ends, in chunks of a kilobyte: a long queue costs 16 bytes an
// entry and gives the memory back as it shrinks; an empty one keeps one chunk at most.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/memory_gauge.h"
#include "queue/entry.h"

namespace ringtail::queue {

class EntryFifo {
 public:
  EntryFifo() = default;
  EntryFifo(EntryFifo&& other) noexcept { swap(other); }
  EntryFifo& operator=(EntryFifo&& other) noexcept {
    EntryFifo taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~EntryFifo();

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Only when not empty.
  const Entry& front() const { return head_->entries[head_at_]; }
  void push(Entry entry) {
    if (tail_ == nullptr || tail_at_ == kChunkEntries) grow();
    tail_->entries[tail_at_++] = std::move(entry);
    ++size_;
  }
  // Only when not empty: the position of the entry pushed last.
  Position last_position() const { return tail_->entries[tail_at_ - 1].position(); }
  // Everything from about the `keep`th entry on: a chunk is never divided. Takes time in proportion
  // to `keep`.
  EntryFifo split_off(std::size_t keep);
  // The entries whose position is above `above`, in order, until `visit` returns false.
  template <typename Visit>
  void visit_above(Position above, Visit&& visit) const;
  // Only when not empty.
  Entry pop() {
    RT_DCHECK(size_ > 0, "pop of an empty fifo");
    Entry entry = std::move(head_->entries[head_at_++]);
    if (head_at_ + kAhead < kChunkEntries) {
      // In a long queue no message is in the cache, and whoever takes one takes many.
      __builtin_prefetch(head_->entries[head_at_ + kAhead].message().get(), 1);
    }
    --size_;
    if (head_at_ == kChunkEntries || size_ == 0) advance();
    return entry;
  }

 private:
  static constexpr std::size_t kChunkEntries = 63;
  static constexpr std::size_t kAhead = 4;  // entries between a pop and what it fetches
  // Counted: the entries of a long queue are memory that its length costs.
  struct Chunk {
    Chunk() { runtime::MemoryGauge::add(kSize); }
    ~Chunk() { runtime::MemoryGauge::add(-kSize); }
    Chunk(const Chunk&) = delete;
    Chunk& operator=(const Chunk&) = delete;

    static constexpr std::int64_t kSize = kChunkEntries * sizeof(Entry) + 16;
    std::array<Entry, kChunkEntries> entries;
    std::unique_ptr<Chunk> next;
  };

  void swap(EntryFifo& other) noexcept;
  void grow();
  void advance();

  std::unique_ptr<Chunk> head_;
  Chunk* tail_ = nullptr;
  std::unique_ptr<Chunk> spare_;
  std::size_t head_at_ = 0;
  std::size_t tail_at_ = 0;
  std::size_t size_ = 0;
};

template <typename Visit>
void EntryFifo::visit_above(Position above, Visit&& visit) const {
  for (const Chunk* chunk = head_.get(); chunk != nullptr; chunk = chunk->next.get()) {
    const std::size_t begin = chunk == head_.get() ? head_at_ : 0;
    const std::size_t end = chunk == tail_ ? tail_at_ : kChunkEntries;
    // They ascend, so that a chunk whose last one is not above has none.
    if (begin == end || chunk->entries[end - 1].position() <= above) continue;
    for (std::size_t at = begin; at < end; ++at) {
      const Entry& entry = chunk->entries[at];
      if (entry.position() > above && !visit(entry)) return;
    }
  }
}

}  // namespace ringtail::queue
