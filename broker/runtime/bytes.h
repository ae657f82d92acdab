// Memory that travels: Block (refcounted memory), Bytes (a slice of one), BytesChain (slices in
// order), OutChain (what a connection has yet to write).
//
// Bytes are immutable once shared. The count is atomic because bodies cross shards. Nothing
// flattens a chain except an encoder that says why (STYLE, rules B1 to B4).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/runtime/check.h"
#include "broker/runtime/limits.h"

namespace ringtail::runtime {

// One refcounted piece of memory: this header, then `capacity` bytes. Created with one reference.
class Block {
 public:
  // `counted`: it is what the memory gauge is for, messages or output.
  static Block* create(std::size_t capacity, bool counted = true);

  void ref() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void unref() {
    // A single holder needs no atomic read-modify-write: nobody else can add a reference.
    if (refs_.load(std::memory_order_acquire) == 1 ||
        refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      destroy(this);
    }
  }
  bool unique() const { return refs_.load(std::memory_order_acquire) == 1; }
  std::uint8_t* data() { return reinterpret_cast<std::uint8_t*>(this + 1); }
  std::size_t capacity() const { return capacity_; }

 private:
  Block(std::size_t capacity, bool counted) : counted_(counted), capacity_(capacity) {}
  static void destroy(Block* block);

  std::atomic<std::uint32_t> refs_{1};
  const bool counted_;
  std::size_t capacity_;
};

// A slice of a Block that keeps it alive; or empty.
class Bytes {
 public:
  Bytes() = default;
  Bytes(const Bytes& other) : block_(other.block_), data_(other.data_), size_(other.size_) {
    if (block_ != nullptr) block_->ref();
  }
  Bytes(Bytes&& other) noexcept
      : block_(std::exchange(other.block_, nullptr)),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  Bytes& operator=(Bytes other) noexcept {
    std::swap(block_, other.block_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Bytes() {
    if (block_ != nullptr) block_->unref();
  }

  // A copy of `source` in a block of exactly its size.
  static Bytes copy(std::span<const std::uint8_t> source);
  // Takes over one reference of `block`.
  static Bytes adopt(Block* block, const std::uint8_t* data, std::size_t size) {
    Bytes bytes;
    bytes.block_ = block;
    bytes.data_ = data;
    bytes.size_ = size;
    return bytes;
  }

  const std::uint8_t* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::span<const std::uint8_t> span() const { return {data_, size_}; }
  // The part [offset, offset + size) of it; shares the block.
  Bytes slice(std::size_t offset, std::size_t size) const {
    RT_CHECK(offset <= size_ && size <= size_ - offset, "slice outside of its bytes");
    if (block_ != nullptr) block_->ref();
    return adopt(block_, data_ + offset, size);
  }

 private:
  Block* block_ = nullptr;
  const std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

// Slices in order; what a large body is.
class BytesChain {
 public:
  void append(Bytes bytes) {
    if (bytes.empty()) return;
    size_ += bytes.size();
    pieces_.push_back(std::move(bytes));
  }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const std::vector<Bytes>& pieces() const { return pieces_; }

 private:
  std::vector<Bytes> pieces_;
  std::size_t size_ = 0;
};

// What a connection has yet to write, in order: small things are written side by side into blocks
// of kOutBlockSize, large bodies are slipped between as slices. Lives on one shard; its blocks
// come from a store that the thread keeps. An empty chain holds no block.
class OutChain {
 public:
  OutChain() = default;
  OutChain(const OutChain&) = delete;
  OutChain& operator=(const OutChain&) = delete;
  OutChain(OutChain&& other) noexcept;
  OutChain& operator=(OutChain&& other) noexcept;
  ~OutChain() { clear(); }

  // Room for `size` contiguous bytes (any size; over kOutBlockSize gets a block of its own), which
  // the caller fills from the returned pointer and then announces with advance(). A reserve
  // without an advance leaves the chain as it was.
  std::uint8_t* reserve(std::size_t size) {
    if (tail_ == nullptr || static_cast<std::size_t>(tail_end_ - tail_at_) < size) grow(size);
    return tail_at_;
  }
  // The first `size` of the reserved bytes are now part of the chain.
  void advance(std::size_t size) {
    RT_DCHECK(size <= static_cast<std::size_t>(tail_end_ - tail_at_), "advance past reserve");
    tail_at_ += size;
    size_ += size;
  }
  void append_copy(const void* data, std::size_t size) {
    if (size == 0) return;  // memcpy must not see a null pointer
    std::memcpy(reserve(size), data, size);
    advance(size);
  }
  // Slips a slice in without copying it.
  void append(Bytes bytes);
  // Everything of `other` behind everything of this; `other` is empty afterwards.
  void splice(OutChain& other);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // A contiguous piece of memory to be written.
  struct Piece {
    const std::uint8_t* data;
    std::size_t size;
  };
  // Fills `pieces` with the first pieces of the chain, in order; returns how many.
  std::size_t peek(std::span<Piece> pieces);
  // Drops the first `size` bytes, which have been written.
  void consume(std::size_t size);
  // Takes the first contiguous bytes out, at most `max` of them, as a slice that can be kept. The
  // block being filled stays, so that what is appended next lies in it too; clear() gives it back.
  Bytes take_front(std::size_t max);
  void clear();

 private:
  void grow(std::size_t size);
  void seal_tail();

  // Sealed pieces, oldest first, from head_ on; the tail block is sealed when it is full, when a
  // slice follows it, or when the chain is looked at.
  std::vector<Bytes> sealed_;
  std::size_t head_ = 0;         // index in sealed_ of the first piece not yet written
  std::size_t head_offset_ = 0;  // bytes of that piece already written
  Block* tail_ = nullptr;
  std::uint8_t* tail_begin_ = nullptr;  // start of the unsealed bytes in tail_
  std::uint8_t* tail_at_ = nullptr;
  std::uint8_t* tail_end_ = nullptr;
  std::size_t size_ = 0;
};

inline std::span<const std::uint8_t> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
inline std::string_view as_text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace ringtail::runtime
