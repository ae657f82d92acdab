// The publishes of one channel that the broker has not answered, by number from 0 (delivery tag
// minus one), with the time each was due.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/perf/sequence_set.h"

namespace ringtail::perf {

class ConfirmWindow {
 public:
  // At most `limit` (at least 1) unanswered at a time.
  explicit ConfirmWindow(std::uint32_t limit)
      : limit_(limit), ring_(std::bit_ceil(std::size_t{limit} * 2)), mask_(ring_.size() - 1) {}

  // How many more may be sent now. A few out-of-order answers do not stop the flow, but one that
  // stays out for long does: the ring has twice the limit.
  std::uint64_t room() const {
    const std::uint64_t by_limit = limit_ - unanswered();
    const std::uint64_t by_ring = ring_.size() - (next_ - lowest_);
    return by_limit < by_ring ? by_limit : by_ring;
  }
  void sent(std::uint64_t due_ns) { ring_[next_++ & mask_] = due_ns; }

  // An answer for tag `tag` (0 with `multiple`: for all). Calls confirmed(due_ns) for each message
  // that it settles. Returns how many; tags never sent and answers given twice settle nothing.
  template <typename Confirmed>
  std::uint64_t answer(std::uint64_t tag, bool multiple, bool ack, Confirmed confirmed) {
    if (tag == 0 && multiple) tag = next_;
    if (tag == 0 || tag > next_) return 0;
    const std::uint64_t before = answered_;
    std::uint64_t from = multiple ? lowest_ : tag - 1;
    if (from < lowest_) return 0;
    for (std::uint64_t number = from; number < tag; ++number) {
      std::uint64_t& due_ns = ring_[number & mask_];
      if (due_ns == kAnswered) continue;
      if (ack) {
        confirmed(due_ns);
      } else {
        refused_.add(number);
      }
      due_ns = kAnswered;
      ++answered_;
    }
    while (lowest_ < next_ && ring_[lowest_ & mask_] == kAnswered) ++lowest_;
    return answered_ - before;
  }

  std::uint64_t unanswered() const { return next_ - answered_; }
  bool is_answered(std::uint64_t number) const {
    return number < lowest_ || (number < next_ && ring_[number & mask_] == kAnswered);
  }
  // Answered by a nack.
  bool is_refused(std::uint64_t number) const { return refused_.contains(number); }

 private:
  static constexpr std::uint64_t kAnswered = UINT64_MAX;

  const std::uint64_t limit_;
  std::vector<std::uint64_t> ring_;  // due times, or kAnswered
  std::uint64_t mask_;
  std::uint64_t next_ = 0;    // the next number to be sent
  std::uint64_t lowest_ = 0;  // all below are answered
  std::uint64_t answered_ = 0;
  SequenceSet refused_;
};

}  // namespace ringtail::perf
