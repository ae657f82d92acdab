#include "queue/queue_state.h"

#include <algorithm>

namespace ringtail::queue {

namespace {

// A heap this large gives its memory back when it is empty.
constexpr std::size_t kReturnedKept = 64;

// The order of std heaps is "largest first".
bool comes_later(const Entry& left, const Entry& right) {
  return left.position() > right.position();
}

}  // namespace

Position QueueState::push(MessageRef message) {
  const Position position = next_position_++;
  ready_bytes_ += message->body_size();
  fresh_.push(Entry(std::move(message), position));
  return position;
}

Entry QueueState::take() {
  RT_DCHECK(ready() > 0, "take from an empty queue");
  const bool from_returned =
      !returned_.empty() &&
      (fresh_.empty() || returned_.front().position() < fresh_.front().position());
  Entry entry = from_returned ? take_returned() : fresh_.pop();
  ready_bytes_ -= entry.message()->body_size();
  return entry;
}

Entry QueueState::take_returned() {
  std::pop_heap(returned_.begin(), returned_.end(), comes_later);
  Entry entry = std::move(returned_.back());
  returned_.pop_back();
  if (returned_.empty() && returned_.capacity() > kReturnedKept) {
    std::vector<Entry>().swap(returned_);
  }
  return entry;
}

void QueueState::put_back(Entry entry, bool redelivered) {
  RT_DCHECK(entry && entry.position() < next_position_, "put back what was never taken");
  if (redelivered) entry.mark_redelivered();
  ready_bytes_ += entry.message()->body_size();
  returned_.push_back(std::move(entry));
  std::push_heap(returned_.begin(), returned_.end(), comes_later);
}

EntryFifo QueueState::take_all() {
  EntryFifo all = std::move(fresh_);
  for (Entry& entry : returned_) all.push(std::move(entry));
  std::vector<Entry>().swap(returned_);
  ready_bytes_ = 0;
  return all;
}

}  // namespace ringtail::queue
