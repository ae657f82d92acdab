// The messages of one queue in their order: those that are ready to be delivered. A pure data
// structure: it knows no consumers, letters or shards, so that a replica of the queue can apply the
// same changes. What was taken is its taker's until it is dropped or put back.
//
// Order: every message has a position, given when it is pushed. The next one is always the one with
// the smallest position: messages that were never taken lie in a fifo, messages that came back in
// a heap by position (they come in any order, so that a sorted sequence could cost O(n) for each).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "broker/runtime/check.h"
#include "queue/entry.h"
#include "queue/entry_fifo.h"

namespace ringtail::queue {

// Lives in its queue, on the queue's shard.
class QueueState {
 public:
  // Behind all others.
  Position push(MessageRef message);
  // The same as push() and take() when nothing is ready, without the way through the fifo.
  Entry pass(MessageRef message) {
    RT_DCHECK(ready() == 0, "a message must not overtake others");
    return Entry(std::move(message), next_position_++);
  }
  // The next one. Only when ready() > 0.
  Entry take();
  // An entry that was taken returns to its place; `redelivered` marks it, false leaves its mark as
  // it is.
  void put_back(Entry entry, bool redelivered);
  // All that is ready, in no useful order.
  EntryFifo take_all();

  std::size_t ready() const { return fresh_.size() + returned_.size(); }
  // Of their bodies.
  std::uint64_t ready_bytes() const { return ready_bytes_; }

 private:
  Entry take_returned();

  Position next_position_ = 1;
  std::uint64_t ready_bytes_ = 0;
  EntryFifo fresh_;
  std::vector<Entry> returned_;  // a heap, smallest position first
};

}  // namespace ringtail::queue
