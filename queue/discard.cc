#include "queue/discard.h"

#include <utility>

#include "broker/runtime/limits.h"

namespace ringtail::queue {

namespace {

// Messages freed in one round. 20,000 in a turn are about a millisecond.
constexpr int kFreedPerRound = 20'000 / runtime::kRoundsPerTurn;

}  // namespace

void Discard::add(EntryFifo entries) {
  if (entries.empty()) return;
  waiting_.push_back(std::move(entries));
  shard_.flush_batches_at_turn_end(*this);
}

void Discard::turn_end() noexcept {
  for (int freed = 0; freed < kFreedPerRound && !waiting_.empty(); ++freed) {
    waiting_.front().pop();
    if (waiting_.front().empty()) waiting_.pop_front();
  }
  if (!waiting_.empty()) shard_.flush_batches_at_turn_end(*this);
}

}  // namespace ringtail::queue
