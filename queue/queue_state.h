// The messages of one queue in their order: those that are ready to be delivered. A pure data
// structure: it knows no consumers, letters or shards, so that a replica of the queue can apply the
// same changes. What was taken is its taker's until it is dropped or put back.
//
// Order: every message has a position, given when it is pushed; in a queue with priorities the
// level is its upper part, so that the order of positions is always the order of delivery. The next
// one is the one with the smallest position: messages that were never taken lie in a fifo for each
// level, messages that came back in a heap by position (they come in any order, so that a sorted
// sequence could cost O(n) for each).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "broker/runtime/check.h"
#include "queue/entry.h"
#include "queue/entry_fifo.h"
#include "queue/expiries.h"
#include "queue/terms.h"

namespace ringtail::queue {

// Lives in its queue, on the queue's shard.
class QueueState {
 public:
  // With levels 0 (a message's default) to `max_priority`, which comes first.
  explicit QueueState(std::uint8_t max_priority = 0);
  QueueState(const QueueState&) = delete;
  QueueState& operator=(const QueueState&) = delete;
  ~QueueState();

  // Behind all others of its level. Priorities above the highest level count as that.
  Position push(MessageRef message, Terms terms, std::uint8_t priority);
  // The same where the message never expires and there is one level.
  Position push(MessageRef message) {
    RT_DCHECK(upper_ == nullptr, "a message without its level");
    const Position position = next_position_++;
    ready_bytes_ += message->body_size();
    ++ready_;
    lowest_.fresh.push(Entry(std::move(message), position));
    return position;
  }
  // The same as push() and take() when nothing is ready, without the way through the fifo.
  Entry pass(MessageRef message) {
    RT_DCHECK(upper_ == nullptr, "a message without its level");
    RT_DCHECK(ready() == 0, "a message must not overtake others");
    return Entry(std::move(message), next_position_++);
  }
  Entry pass(MessageRef message, std::uint8_t priority);
  // The next one, and its terms. Only when ready() > 0.
  Entry take(Terms& terms) {
    RT_DCHECK(ready() > 0, "take from an empty queue");
    if (!simple_) [[unlikely]]
      return take_any(terms);
    Entry entry = lowest_.fresh.pop();
    --ready_;
    ready_bytes_ -= entry.message()->body_size();
    return entry;
  }
  // The terms of the next one. Only when ready() > 0.
  Terms front_terms() const;
  // An entry that was taken returns to its place; `redelivered` marks it, false leaves its mark as
  // it is.
  void put_back(Entry entry, Terms terms, bool redelivered);
  // All that is ready, in no useful order.
  std::vector<EntryFifo> take_all();

  std::size_t ready() const { return ready_; }
  // Of their bodies.
  std::uint64_t ready_bytes() const { return ready_bytes_; }
  // Those of them that expire.
  std::size_t ready_expiring() const { return ready_expiring_; }

 private:
  // The messages of one level that were never taken.
  struct Line {
    EntryFifo fresh;
    Expiries expiries;
    Position last = 0;  // pushed last; kept only where there are levels
  };
  // The levels above the lowest.
  struct Upper {
    std::vector<Line> lines;                     // level 1 comes first
    std::array<std::uint64_t, 4> occupied = {};  // a bit for each line that is not empty
    // The highest line that is not empty; null: none.
    Line* highest();
    void pushed(std::size_t line) { occupied[line / 64] |= std::uint64_t{1} << line % 64; }
    void emptied(std::size_t line) { occupied[line / 64] &= ~(std::uint64_t{1} << line % 64); }
  };
  struct Returned {
    Entry entry;
    Terms terms;
  };

  static bool comes_later(const Returned& left, const Returned& right) {
    return left.entry.position() > right.entry.position();
  }
  std::uint8_t level_of(std::uint8_t priority) const;
  Position position_of(std::uint8_t level);
  // The line with the next fresh message.
  Line& first_line() const {
    if (upper_ != nullptr) [[unlikely]] {
      if (Line* line = upper_->highest()) return *line;
    }
    return const_cast<Line&>(lowest_);
  }
  bool returned_comes_first(const Line& line) const {
    return !returned_.empty() && (line.fresh.empty() || returned_.front().entry.position() <
                                                            line.fresh.front().position());
  }
  Entry take_any(Terms& terms);
  Entry take_first(Terms& terms);
  Returned take_returned();
  void returned_resized(std::size_t capacity_before);

  // Whether one fifo is all there is: one level, nothing came back, nothing expires.
  bool is_simple() const { return upper_ == nullptr && returned_.empty() && ready_expiring_ == 0; }

  bool simple_ = true;  // only when is_simple(); take_any() looks again
  Position next_position_ = 1;
  std::size_t ready_ = 0;
  std::uint64_t ready_bytes_ = 0;
  std::size_t ready_expiring_ = 0;
  Line lowest_;
  std::unique_ptr<Upper> upper_;    // none: one level
  std::vector<Returned> returned_;  // a heap, smallest position first
};

}  // namespace ringtail::queue
