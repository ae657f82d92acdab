#include "queue/entry_fifo.h"

namespace ringtail::queue {

EntryFifo::~EntryFifo() {
  // One after the other: a chain of unique pointers would destroy itself by recursion.
  while (head_ != nullptr) head_ = std::move(head_->next);
}

void EntryFifo::swap(EntryFifo& other) noexcept {
  std::swap(head_, other.head_);
  std::swap(tail_, other.tail_);
  std::swap(spare_, other.spare_);
  std::swap(head_at_, other.head_at_);
  std::swap(tail_at_, other.tail_at_);
  std::swap(size_, other.size_);
}

void EntryFifo::grow() {
  std::unique_ptr<Chunk> chunk = spare_ != nullptr ? std::move(spare_) : std::make_unique<Chunk>();
  Chunk* added = chunk.get();
  (tail_ == nullptr ? head_ : tail_->next) = std::move(chunk);
  tail_ = added;
  tail_at_ = 0;
}

void EntryFifo::advance() {
  if (size_ == 0) {
    // Whatever was popped was moved out, so the chunk can be used from its start again.
    head_at_ = 0;
    tail_at_ = 0;
    spare_.reset();
    return;
  }
  std::unique_ptr<Chunk> used = std::move(head_);
  head_ = std::move(used->next);
  head_at_ = 0;
  spare_ = std::move(used);
}

EntryFifo EntryFifo::split_off(std::size_t keep) {
  EntryFifo rest;
  if (head_ == nullptr) return rest;
  Chunk* last = head_.get();  // of what stays
  std::size_t kept = kChunkEntries - head_at_;
  while (last->next != nullptr && kept < keep) {
    last = last->next.get();
    kept += kChunkEntries;
  }
  if (last->next == nullptr) return rest;  // all of it stays
  rest.head_ = std::move(last->next);
  rest.tail_ = tail_;
  rest.tail_at_ = tail_at_;
  rest.size_ = size_ - kept;
  tail_ = last;
  tail_at_ = kChunkEntries;
  size_ = kept;
  return rest;
}

}  // namespace ringtail::queue
