// Frees many messages a few at a time: a queue of millions that is purged or deleted must not hold
// up its shard.
#pragma once

#include <deque>

#include "broker/runtime/shard.h"
#include "queue/entry_fifo.h"

namespace ringtail::queue {

// One per shard, on its thread; longer there than the shard's queues. What is left when it is
// destroyed is freed at once.
class Discard : private runtime::TurnTask {
 public:
  explicit Discard(runtime::Shard& shard) : shard_(shard) {}

  void add(EntryFifo entries);
  bool idle() const { return waiting_.empty(); }

 private:
  void turn_end() noexcept override;

  runtime::Shard& shard_;
  std::deque<EntryFifo> waiting_;
};

}  // namespace ringtail::queue
