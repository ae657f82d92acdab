// The messages of one queue in their order: those that are ready to be delivered. A pure data
// structure: it knows no consumers, letters or shards, so that a replica of the queue can apply the
// same changes. What was taken is its taker's until it is dropped or put back.
//
// Order: every message has a position, given when it is pushed; in a queue with priorities the
// level is its upper part, so that the order of positions is always the order of delivery. The next
// one is the one with the smallest position: messages that were never taken lie in a fifo for each
// level, messages that came back in a heap by position (they come in any order, so that a sorted
// sequence could cost O(n) for each).
//
// A long line need not be in memory: its head is, so that there is something to deliver, then come
// messages that are paged out (counted here, kept by queue/store/), and behind them its tail, which
// is paged out as it grows. A line without messages that are paged out is a head alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "broker/runtime/check.h"
#include "queue/entry.h"
#include "queue/entry_fifo.h"
#include "queue/expiries.h"
#include "queue/terms.h"

namespace ringtail::queue {

// Where a message of the queue is.
enum class Whereabouts : std::uint8_t { kWaiting, kCameBack, kHandedOut };

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
    lowest_.in->entries.push(Entry(std::move(message), position));
    return position;
  }
  // The same as push() and take() when nothing is ready, without the way through the fifo.
  Entry pass(MessageRef message) {
    RT_DCHECK(upper_ == nullptr, "a message without its level");
    RT_DCHECK(ready() == 0, "a message must not overtake others");
    return Entry(std::move(message), next_position_++);
  }
  Entry pass(MessageRef message, std::uint8_t priority);
  // Whether the next one is here: something is ready, and its first message is not paged out.
  bool can_take() const {
    if (paged_ == 0) [[likely]]
      return ready_ > 0;
    return ready_ > 0 && first_is_here();
  }
  // The next one, and its terms. Only when can_take().
  Entry take(Terms& terms) {
    RT_DCHECK(can_take(), "take from a queue that has none here");
    if (!simple_) [[unlikely]]
      return take_any(terms);
    Entry entry = lowest_.head.entries.pop();
    --ready_;
    ready_bytes_ -= entry.message()->body_size();
    return entry;
  }
  // The next one. Only when can_take().
  const Entry& front() const;
  // The terms of the next one. Only when can_take().
  Terms front_terms() const;
  // An entry that was taken returns to its place; `redelivered` marks it, false leaves its mark as
  // it is.
  void put_back(Entry entry, Terms terms, bool redelivered);
  // All that is ready, in no useful order; what is paged out counts no more.
  std::vector<EntryFifo> take_all();

  // --- paging; a lane is a level by its distance from the highest ---
  std::size_t lanes() const { return upper_ == nullptr ? 1 : upper_->lines.size() + 1; }
  // The number that the next message gets; messages of all levels are counted together.
  std::uint64_t next_number() const { return next_position_; }
  // The position that push() or pass() would give now.
  Position next_position(std::uint8_t priority) const;
  std::uint64_t paged() const { return paged_; }
  // Something is paged out, or about to be.
  bool has_tail() const;
  std::uint64_t paged(std::uint8_t lane) const { return line_at(lane).paged; }
  // Messages of the lane's head, where it is followed by messages that are paged out.
  std::size_t head_size(std::uint8_t lane) const { return line_at(lane).head.entries.size(); }
  std::size_t tail_size(std::uint8_t lane) const { return line_at(lane).tail_size(); }
  // Keeps about `keep` messages as the lane's head: what follows becomes its tail. Only when it has
  // none.
  void begin_tail(std::uint8_t lane, std::size_t keep);
  // Takes the tail's first messages up to this number out of memory, `limit` at most: they are kept
  // elsewhere. Returns them, to be freed.
  EntryFifo page_out(std::uint8_t lane, std::uint64_t up_to, std::size_t limit);
  // The next message of the lane that was paged out is here again.
  void page_in(MessageRef message, Position position, Terms terms, bool redelivered);
  // One that was paged out is nowhere: it was damaged.
  void page_lost(std::uint8_t lane, std::uint64_t body_size);
  // What a restart found: messages that are paged out. Before anything else.
  void restore_paged(std::uint8_t lane, std::uint64_t count, std::uint64_t bytes,
                     std::uint64_t expiring);
  // The same: one that is in memory, behind all others of its lane.
  void restore(MessageRef message, Position position, Terms terms, bool redelivered);
  void restore_next(std::uint64_t number) { next_position_ = number; }
  // Every message here with a number above `above`: those that wait, of each lane in order until
  // `visit` returns false for that lane, then those that came back, in no order.
  using Visit = std::function<bool(const Entry&, Terms, Whereabouts)>;
  void visit_above(std::uint64_t above, const Visit& visit) const;

  std::size_t ready() const { return ready_; }
  // Of their bodies.
  std::uint64_t ready_bytes() const { return ready_bytes_; }
  // Those of them that expire.
  std::size_t ready_expiring() const { return ready_expiring_; }

 private:
  // Messages side by side.
  struct Zone {
    EntryFifo entries;
    Expiries expiries;
  };
  // The messages of one level that were never taken.
  struct Line {
    Line() = default;
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;

    Zone head;
    std::unique_ptr<Zone> tail;  // only behind messages that are paged out, or about to be
    Zone* in = &head;            // where new ones go
    std::uint64_t paged = 0;
    Position last = 0;  // pushed last; kept only where there are levels

    std::size_t tail_size() const { return tail == nullptr ? 0 : tail->entries.size(); }
    bool empty() const { return head.entries.empty() && paged == 0 && tail_size() == 0; }
  };
  // The levels above the lowest.
  struct Upper {
    explicit Upper(std::size_t levels) : lines(levels) {}
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
  // What came back was taken once, so that it lies before all that is paged out in its line.
  bool returned_comes_first(const Line& line) const;
  bool first_is_here() const;
  void advance(Line& line);
  void mark_empty(Line& line);
  const Line& line_at(std::uint8_t lane) const;
  Line& line_at(std::uint8_t lane) {
    return const_cast<Line&>(static_cast<const QueueState*>(this)->line_at(lane));
  }
  Entry take_any(Terms& terms);
  Entry take_first(Terms& terms);
  Returned take_returned();
  void returned_resized(std::size_t capacity_before);

  // Whether one fifo is all there is: one level, nothing came back, expires or is paged out.
  bool is_simple() const {
    return upper_ == nullptr && returned_.empty() && ready_expiring_ == 0 &&
           lowest_.in == &lowest_.head;
  }

  bool simple_ = true;  // only when is_simple(); take_any() looks again
  Position next_position_ = 1;
  std::size_t ready_ = 0;
  std::uint64_t ready_bytes_ = 0;
  std::size_t ready_expiring_ = 0;
  std::uint64_t paged_ = 0;  // of the ready ones
  Line lowest_;
  std::unique_ptr<Upper> upper_;    // none: one level
  std::vector<Returned> returned_;  // a heap, smallest position first
};

}  // namespace ringtail::queue
