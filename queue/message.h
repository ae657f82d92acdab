// A message: immutable once published, reference counted, in its protocol's own form, never encoded
// again on its way to a client of the same protocol. Fan-out to a thousand queues shares one.
//
// One allocation holds this header and, behind it, the exchange name and routing key (as two short
// strings, as basic.deliver wants them), the content properties (flags and values as received) and
// a body of up to kInlineBodyMax bytes. A larger body is a chain of blocks beside it. Routing keys
// that no receiver may see (the header BCC) come last.
//
// Built on one shard by the channel that received it, then read on any. The queue layer never looks
// into the protocol's bytes: the few properties it needs are decoded into fields at build time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "broker/runtime/bytes.h"

namespace ringtail::queue {

inline constexpr std::uint64_t kNoExpiration = std::numeric_limits<std::uint64_t>::max();

class Message {
 public:
  // The decoded properties.
  struct Traits {
    bool persistent = false;
    std::uint8_t priority = 0;
    bool has_priority = false;
    std::uint64_t expiration_ms = kNoExpiration;  // the `expiration` property
  };

  // A message with one reference. `route` is the exchange and the routing key as two short strings
  // (each a length octet and its bytes); `properties` the flag words and values. The body is still
  // to come: append_body() until body_complete(). `blind_keys`: see blind_keys().
  static Message* create(std::span<const std::uint8_t> route,
                         std::span<const std::uint8_t> properties, std::uint64_t body_size,
                         const Traits& traits, std::span<const std::uint8_t> blind_keys = {});
  // The complete body of another message under a new route and new properties. A large body is
  // shared, not copied.
  static Message* create_around(const Message& body, std::span<const std::uint8_t> route,
                                std::span<const std::uint8_t> properties, const Traits& traits,
                                std::span<const std::uint8_t> blind_keys = {});

  // Building: copies the next `part` of the body. At most body_size() in all.
  void append_body(std::span<const std::uint8_t> part);
  bool body_complete() const { return body_received_ == body_size_; }
  std::uint64_t body_missing() const { return body_size_ - body_received_; }

  const Traits& traits() const { return traits_; }
  std::span<const std::uint8_t> route() const { return {tail(), route_size_}; }
  std::string_view exchange() const;
  std::string_view routing_key() const;
  std::span<const std::uint8_t> properties() const {
    return {tail() + route_size_, properties_size_};
  }
  // The keys that the message was routed by without showing them, in its protocol's own form; for
  // routing it once more when it is dead-lettered. Mostly empty.
  std::span<const std::uint8_t> blind_keys() const {
    const std::size_t before = route_size_ + properties_size_ +
                               (body_is_inline() ? static_cast<std::size_t>(body_size_) : 0);
    return {tail() + before, blind_size_};
  }
  std::uint64_t body_size() const { return body_size_; }
  bool body_is_inline() const { return body_size_ <= runtime::kInlineBodyMax; }
  // Only when body_is_inline().
  std::span<const std::uint8_t> inline_body() const {
    return {tail() + route_size_ + properties_size_, static_cast<std::size_t>(body_size_)};
  }
  // Only when not body_is_inline().
  const runtime::BytesChain& large_body() const { return large_body_; }

  // Bytes it holds in memory, its own bookkeeping included: what windows and limits count.
  std::size_t footprint() const {
    return sizeof(Message) + route_size_ + properties_size_ + blind_size_ +
           static_cast<std::size_t>(body_size_);
  }

  // Somebody else has it, too. What one thread is told of a message that only it has stays so.
  bool shared() const { return refs_.load(std::memory_order_acquire) > 1; }
  void ref() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void unref() {
    if (refs_.load(std::memory_order_acquire) == 1 ||
        refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      destroy(this);
    }
  }

 private:
  Message() = default;
  ~Message() = default;
  static void destroy(Message* message);
  // Of the one allocation.
  std::size_t allocated() const {
    return sizeof(Message) + route_size_ + properties_size_ + blind_size_ +
           (body_is_inline() ? static_cast<std::size_t>(body_size_) : 0);
  }
  // Room in the last block of a large body, after making a new one if it is full.
  std::size_t body_room(std::size_t wanted);
  std::uint8_t* tail() { return reinterpret_cast<std::uint8_t*>(this + 1); }
  const std::uint8_t* tail() const { return reinterpret_cast<const std::uint8_t*>(this + 1); }

  // What a queue reads of every message comes first: one cache line.
  std::atomic<std::uint32_t> refs_{1};
  std::uint32_t properties_size_ = 0;
  std::uint64_t body_size_ = 0;
  std::uint16_t route_size_ = 0;
  std::uint32_t blind_size_ = 0;
  Traits traits_;
  std::uint64_t body_received_ = 0;
  runtime::BytesChain large_body_;
};

// A counted reference to a message, or none.
class MessageRef {
 public:
  MessageRef() = default;
  // Takes over one reference.
  explicit MessageRef(Message* message) : message_(message) {}
  MessageRef(const MessageRef& other) : message_(other.message_) {
    if (message_ != nullptr) message_->ref();
  }
  MessageRef(MessageRef&& other) noexcept : message_(std::exchange(other.message_, nullptr)) {}
  MessageRef& operator=(MessageRef other) noexcept {
    std::swap(message_, other.message_);
    return *this;
  }
  ~MessageRef() {
    if (message_ != nullptr) message_->unref();
  }

  explicit operator bool() const { return message_ != nullptr; }
  Message* operator->() const { return message_; }
  Message& operator*() const { return *message_; }
  Message* get() const { return message_; }

 private:
  Message* message_ = nullptr;
};

}  // namespace ringtail::queue
