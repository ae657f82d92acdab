// One message in one queue: the message, its position, and whether it was delivered before.
#pragma once

#include <cstdint>
#include <utility>

#include "queue/message.h"

namespace ringtail::queue {

// A message's place in its queue: 1, 2, ... in the order of publishing, never used again. A message
// that comes back goes to its place. 63 bits are used.
using Position = std::uint64_t;

// Sixteen bytes, because a long queue holds very many: the mark shares a word with the position.
class Entry {
 public:
  Entry() = default;
  Entry(MessageRef message, Position position, bool redelivered = false)
      : message_(std::move(message)), place_(position << 1 | (redelivered ? 1U : 0U)) {}

  explicit operator bool() const { return static_cast<bool>(message_); }
  const MessageRef& message() const { return message_; }
  MessageRef take_message() { return std::move(message_); }
  Position position() const { return place_ >> 1; }
  bool redelivered() const { return (place_ & 1U) != 0; }
  void mark_redelivered() { place_ |= 1U; }

 private:
  MessageRef message_;
  std::uint64_t place_ = 0;
};

}  // namespace ringtail::queue
