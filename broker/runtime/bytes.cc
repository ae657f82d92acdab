#include "broker/runtime/bytes.h"

#include <cstdlib>
#include <limits>
#include <new>

#include "broker/runtime/copy_bytes.h"
#include "broker/runtime/memory_gauge.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) static_cast<void>(size)
#define ASAN_UNPOISON_MEMORY_REGION(address, size) static_cast<void>(size)
#endif

namespace ringtail::runtime {

namespace {

// Pieces that an empty chain keeps room for; what a connection needs beyond it goes back.
constexpr std::size_t kPiecesKept = 64;

constexpr std::size_t kOutBlockMemory = sizeof(Block) + kOutBlockSize;

// True once this thread's KeptBlocks is gone. Without a destructor of its own it can be asked by
// whatever is destroyed after that.
constinit thread_local bool kept_blocks_ended = false;

// Memory of freed blocks of kOutBlockSize, for reuse by this thread. It does not count in the
// gauge.
class KeptBlocks {
 public:
  KeptBlocks() = default;
  KeptBlocks(const KeptBlocks&) = delete;
  KeptBlocks& operator=(const KeptBlocks&) = delete;
  ~KeptBlocks() {
    kept_blocks_ended = true;
    while (void* memory = take()) std::free(memory);
  }

  void* take() {
    if (count_ == 0) return nullptr;
    void* memory = memory_[--count_];
    ASAN_UNPOISON_MEMORY_REGION(memory, kOutBlockMemory);
    return memory;
  }
  bool keep(void* memory) {
    if (count_ == kOutBlocksKept) return false;
    ASAN_POISON_MEMORY_REGION(memory, kOutBlockMemory);
    memory_[count_++] = memory;
    return true;
  }

 private:
  void* memory_[kOutBlocksKept] = {};
  std::size_t count_ = 0;
};

KeptBlocks& kept_blocks() {
  static thread_local KeptBlocks kept;
  return kept;
}

}  // namespace

Block* Block::create(std::size_t capacity, bool counted) {
  RT_CHECK(capacity <= std::numeric_limits<std::size_t>::max() - sizeof(Block), "block too large");
  void* memory = nullptr;
  if (capacity == kOutBlockSize && !kept_blocks_ended) memory = kept_blocks().take();
  if (memory == nullptr) memory = std::malloc(sizeof(Block) + capacity);
  RT_CHECK(memory != nullptr, "out of memory");
  if (counted) MemoryGauge::add(static_cast<std::int64_t>(sizeof(Block) + capacity));
  return new (memory) Block(capacity, counted);
}

void Block::destroy(Block* block) {
  const std::size_t capacity = block->capacity_;
  if (block->counted_) MemoryGauge::add(-static_cast<std::int64_t>(sizeof(Block) + capacity));
  block->~Block();
  if (capacity == kOutBlockSize && !kept_blocks_ended && kept_blocks().keep(block)) return;
  std::free(block);
}

Bytes Bytes::copy(std::span<const std::uint8_t> source) {
  if (source.empty()) return {};
  Block* block = Block::create(source.size());
  copy_bytes(block->data(), source.data(), source.size());
  return adopt(block, block->data(), source.size());
}

OutChain::OutChain(OutChain&& other) noexcept
    : sealed_(std::move(other.sealed_)),
      head_(std::exchange(other.head_, 0)),
      head_offset_(std::exchange(other.head_offset_, 0)),
      tail_(std::exchange(other.tail_, nullptr)),
      tail_begin_(std::exchange(other.tail_begin_, nullptr)),
      tail_at_(std::exchange(other.tail_at_, nullptr)),
      tail_end_(std::exchange(other.tail_end_, nullptr)),
      size_(std::exchange(other.size_, 0)) {
  other.sealed_.clear();
}

OutChain& OutChain::operator=(OutChain&& other) noexcept {
  if (this == &other) return *this;
  clear();
  sealed_.swap(other.sealed_);
  head_ = std::exchange(other.head_, 0);
  head_offset_ = std::exchange(other.head_offset_, 0);
  tail_ = std::exchange(other.tail_, nullptr);
  tail_begin_ = std::exchange(other.tail_begin_, nullptr);
  tail_at_ = std::exchange(other.tail_at_, nullptr);
  tail_end_ = std::exchange(other.tail_end_, nullptr);
  size_ = std::exchange(other.size_, 0);
  return *this;
}

void OutChain::grow(std::size_t size) {
  if (tail_ != nullptr) {
    seal_tail();
    tail_->unref();
  }
  tail_ = Block::create(size > kOutBlockSize ? size : kOutBlockSize);
  tail_begin_ = tail_at_ = tail_->data();
  tail_end_ = tail_begin_ + tail_->capacity();
}

void OutChain::seal_tail() {
  if (tail_at_ == tail_begin_) return;
  const auto size = static_cast<std::size_t>(tail_at_ - tail_begin_);
  if (head_ < sealed_.size() && sealed_.back().data() + sealed_.back().size() == tail_begin_) {
    // The last piece ends where these bytes begin: it is an earlier part of the same block (two
    // blocks never touch, a header lies between), so it grows instead of getting a neighbour.
    Bytes& last = sealed_.back();
    tail_->ref();
    last = Bytes::adopt(tail_, last.data(), last.size() + size);
  } else {
    tail_->ref();
    sealed_.push_back(Bytes::adopt(tail_, tail_begin_, size));
  }
  tail_begin_ = tail_at_;
}

void OutChain::append(Bytes bytes) {
  if (bytes.empty()) return;
  seal_tail();
  size_ += bytes.size();
  sealed_.push_back(std::move(bytes));
}

void OutChain::splice(OutChain& other) {
  RT_DCHECK(this != &other, "a chain spliced into itself");
  if (empty()) {
    *this = std::move(other);
    return;
  }
  if (!other.empty()) {
    seal_tail();
    other.seal_tail();
    if (other.head_offset_ > 0) {
      Bytes& first = other.sealed_[other.head_];
      first = first.slice(other.head_offset_, first.size() - other.head_offset_);
    }
    sealed_.reserve(sealed_.size() + other.sealed_.size() - other.head_);
    for (std::size_t i = other.head_; i < other.sealed_.size(); ++i) {
      sealed_.push_back(std::move(other.sealed_[i]));
    }
    size_ += other.size_;
    // Both tails are sealed, so either block can be filled further: keep the one with more room.
    if (other.tail_end_ - other.tail_at_ > tail_end_ - tail_at_) {
      std::swap(tail_, other.tail_);
      std::swap(tail_begin_, other.tail_begin_);
      std::swap(tail_at_, other.tail_at_);
      std::swap(tail_end_, other.tail_end_);
    }
  }
  other.clear();
}

std::size_t OutChain::peek(std::span<Piece> pieces) {
  if (empty()) {
    clear();  // a reserve without an advance may have left a block
    return 0;
  }
  seal_tail();
  std::size_t count = 0;
  std::size_t offset = head_offset_;
  for (std::size_t i = head_; i < sealed_.size() && count < pieces.size(); ++i) {
    const Bytes& bytes = sealed_[i];
    pieces[count++] = {bytes.data() + offset, bytes.size() - offset};
    offset = 0;
  }
  return count;
}

void OutChain::consume(std::size_t size) {
  RT_CHECK(size <= size_, "consumes more than the chain holds");
  if (size == size_) {
    clear();
    return;
  }
  size_ -= size;
  seal_tail();
  while (size > 0) {
    const std::size_t left = sealed_[head_].size() - head_offset_;
    if (size < left) {
      head_offset_ += size;
      break;
    }
    size -= left;
    sealed_[head_] = Bytes();
    ++head_;
    head_offset_ = 0;
  }
  // The vector is emptied from the front in large steps, so that each piece is moved once or so.
  if (head_ >= kPiecesKept && head_ * 2 >= sealed_.size()) {
    sealed_.erase(sealed_.begin(), sealed_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
  }
}

Bytes OutChain::take_front(std::size_t max) {
  if (size_ == 0 || max == 0) return {};
  seal_tail();
  const Bytes& first = sealed_[head_];
  const std::size_t left = first.size() - head_offset_;
  Bytes taken = first.slice(head_offset_, left < max ? left : max);
  if (taken.size() < size_) {
    consume(taken.size());
    return taken;
  }
  sealed_.clear();
  head_ = 0;
  head_offset_ = 0;
  size_ = 0;
  return taken;
}

void OutChain::clear() {
  if (sealed_.capacity() > kPiecesKept) {
    std::vector<Bytes>().swap(sealed_);
  } else {
    sealed_.clear();
  }
  head_ = 0;
  head_offset_ = 0;
  if (tail_ != nullptr) tail_->unref();
  tail_ = nullptr;
  tail_begin_ = tail_at_ = tail_end_ = nullptr;
  size_ = 0;
}

}  // namespace ringtail::runtime
