// Bytes that are about to be written to a file: grows without clearing what it adds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "broker/runtime/bytes.h"
#include "broker/runtime/check.h"
#include "broker/runtime/copy_bytes.h"

namespace ringtail::queue::store {

// Owned by whoever writes. Numbers are in network order; a varint is LEB128: seven bits an octet,
// the lowest first, the top bit set in all but the last (1 to 10 octets).
class ByteBuffer {
 public:
  ByteBuffer() = default;
  // What was moved from is empty and may be used on.
  ByteBuffer(ByteBuffer&& other) noexcept
      : block_(std::exchange(other.block_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  ByteBuffer& operator=(ByteBuffer&& other) noexcept {
    std::swap(block_, other.block_);
    std::swap(size_, other.size_);
    other.release();
    return *this;
  }
  ~ByteBuffer() { release(); }

  const std::uint8_t* data() const { return block_ == nullptr ? nullptr : block_->data(); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::span<const std::uint8_t> span() const { return {data(), size_}; }
  std::size_t capacity() const { return block_ == nullptr ? 0 : block_->capacity(); }
  void clear() { size_ = 0; }
  // Gives the memory back, too.
  void release() {
    if (block_ != nullptr) block_->unref();
    block_ = nullptr;
    size_ = 0;
  }
  // What it holds, not copied; it is empty afterwards.
  runtime::Bytes share() {
    if (block_ == nullptr) return {};
    runtime::Block* const block = std::exchange(block_, nullptr);
    return runtime::Bytes::adopt(block, block->data(), std::exchange(size_, 0));
  }

  // Room for `size` more bytes, to be filled and announced with advance().
  std::uint8_t* reserve(std::size_t size) {
    if (block_ == nullptr || block_->capacity() - size_ < size) grow(size);
    return block_->data() + size_;
  }
  void advance(std::size_t size) {
    RT_DCHECK(size <= capacity() - size_, "advance past reserve");
    size_ += size;
  }
  void append(std::span<const std::uint8_t> bytes) {
    if (bytes.empty()) return;  // memcpy must not see a null pointer
    std::memcpy(reserve(bytes.size()), bytes.data(), bytes.size());
    size_ += bytes.size();
  }
  void append(std::string_view text) { append(runtime::as_bytes(text)); }
  template <typename Number>
  void put(Number number) {
    put_at(reserve(sizeof(Number)), number);
    size_ += sizeof(Number);
  }
  void put_varint(std::uint64_t number) {
    std::uint8_t* at = reserve(kVarintMax);
    std::uint8_t* const begin = at;
    for (; number >= 0x80; number >>= 7) *at++ = static_cast<std::uint8_t>(number | 0x80);
    *at++ = static_cast<std::uint8_t>(number);
    size_ += static_cast<std::size_t>(at - begin);
  }
  // Replaces what was put before: a length or checksum that is known only now.
  template <typename Number>
  void patch(std::size_t offset, Number number) {
    RT_DCHECK(offset + sizeof(Number) <= size_, "a patch of what was not put");
    put_at(block_->data() + offset, number);
  }

  static constexpr std::size_t kVarintMax = 10;

 private:
  template <typename Number>
  static void put_at(std::uint8_t* at, Number number) {
    for (std::size_t i = 0; i < sizeof(Number); ++i) {
      at[i] = static_cast<std::uint8_t>(number >> (8 * (sizeof(Number) - 1 - i)));
    }
  }
  void grow(std::size_t size) {
    std::size_t room = capacity() == 0 ? 1024 : capacity() * 2;
    if (room < size_ + size) room = size_ + size;
    runtime::Block* const block = runtime::Block::create(room);
    if (size_ > 0) runtime::copy_bytes(block->data(), data(), size_);
    if (block_ != nullptr) block_->unref();
    block_ = block;
  }

  runtime::Block* block_ = nullptr;
  std::size_t size_ = 0;
};

// Reads the same. After a read that goes past the end, or a varint of more than 64 bits, it is not
// ok() and everything read since is 0 or empty.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  bool at_end() const { return at_ == bytes_.size(); }
  std::size_t offset() const { return at_; }
  std::size_t left() const { return bytes_.size() - at_; }
  template <typename Number>
  Number get() {
    const auto bytes = take(sizeof(Number));
    Number number = 0;
    for (const std::uint8_t byte : bytes) number = static_cast<Number>(number << 8 | byte);
    return number;
  }
  std::uint8_t get_octet() {
    const auto bytes = take(1);
    return bytes.empty() ? std::uint8_t{0} : bytes[0];
  }
  std::uint64_t get_varint() {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t octet = get_octet();
      if (shift == 63 && octet > 1) break;
      number |= std::uint64_t{octet & 0x7FU} << shift;
      if (octet < 0x80) return ok_ ? number : 0;
    }
    ok_ = false;
    return 0;
  }
  std::span<const std::uint8_t> take(std::uint64_t size) {
    if (!ok_ || size > left()) {
      ok_ = false;
      return {};
    }
    at_ += static_cast<std::size_t>(size);
    return bytes_.subspan(at_ - static_cast<std::size_t>(size), static_cast<std::size_t>(size));
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace ringtail::queue::store
