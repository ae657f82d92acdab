// Bounded credit, derived from positions so that none can leak: how much was sent, and how far the
// other side says it has come. Losing a report costs nothing; the next one makes up for it.
#pragma once

#include <cstdint>

#include "broker/runtime/check.h"

namespace ringtail::runtime {

// One side's view of a flow of things (messages, bytes) to a peer that answers with positions.
class Window {
 public:
  explicit Window(std::uint64_t limit) : limit_(limit) {}

  // May be exceeded by the one thing that crosses the limit: nothing is too large for ever.
  bool open() const { return sent_ - settled_ < limit_; }
  void set_limit(std::uint64_t limit) { limit_ = limit; }
  void sent(std::uint64_t amount) { sent_ += amount; }
  // The peer has come to `position`. Older reports than the last are ignored.
  void settled(std::uint64_t position) {
    RT_DCHECK(position <= sent_, "settled more than was sent");
    if (position > settled_) settled_ = position;
  }
  std::uint64_t outstanding() const { return sent_ - settled_; }
  std::uint64_t position() const { return sent_; }

 private:
  std::uint64_t limit_;
  std::uint64_t sent_ = 0;
  std::uint64_t settled_ = 0;
};

}  // namespace ringtail::runtime
