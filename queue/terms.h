// On what terms a message stays in its queue: when it expires, and how often it came back.
#pragma once

#include <algorithm>
#include <cstdint>

namespace ringtail::queue {

// Eight bytes, because every delivery that is held has them. Kept apart from the entry: in a queue
// that uses neither, a message that waits has none.
class Terms {
 public:
  // Never expires, never came back.
  Terms() = default;
  // Expires at this time of the shard's monotonic clock.
  static Terms expiring_at(std::uint64_t time_ms) {
    Terms terms;
    terms.bits_ = (std::min(time_ms, kTimeMax) + 1) << kReturnBits;
    return terms;
  }

  bool expires() const { return bits_ >> kReturnBits != 0; }
  // Only when it expires().
  std::uint64_t expires_at_ms() const { return (bits_ >> kReturnBits) - 1; }
  bool expired(std::uint64_t now_ms) const { return expires() && expires_at_ms() <= now_ms; }

  // How often it was handed out and came back; stops at kReturnsMax.
  std::uint16_t returns() const { return static_cast<std::uint16_t>(bits_ & kReturnsMax); }
  void count_return() {
    if (returns() < kReturnsMax) ++bits_;
  }

  static constexpr std::uint64_t kReturnsMax = 0xFFFF;
  bool operator==(const Terms&) const = default;

 private:
  static constexpr unsigned kReturnBits = 16;
  // Nine thousand years.
  static constexpr std::uint64_t kTimeMax = (std::uint64_t{1} << (64 - kReturnBits)) - 2;

  std::uint64_t bits_ = 0;  // one more than the time (0: none) above the returns
};

}  // namespace ringtail::queue
