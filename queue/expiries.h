// When the messages of a fifo expire, beside it: those that came together and expire together share
// one record, and a message that never expires has none.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "broker/runtime/memory_gauge.h"
#include "queue/entry.h"
#include "queue/terms.h"

namespace ringtail::queue {

// Lives with its fifo. Costs a null pointer while nothing in the fifo expires.
class Expiries {
 public:
  Expiries() = default;
  Expiries(Expiries&&) = default;
  Expiries& operator=(Expiries&& other) noexcept {
    clear();
    runs_ = std::move(other.runs_);
    return *this;
  }
  ~Expiries() { clear(); }

  // The entry of this position was pushed; `before` is the position of the one pushed before it, or
  // one that was never pushed.
  void pushed(Position position, Position before, Terms terms);
  // The terms of the fifo's first entry.
  Terms of_front(Position position) const {
    return runs_ == nullptr || runs_->front().first > position ? Terms() : runs_->front().terms;
  }
  // The fifo's first entry was popped.
  void popped(Position position) {
    if (runs_ != nullptr && runs_->front().last == position) drop_run();
  }
  // The terms of any entry of the fifo.
  Terms of(Position position) const;
  // What concerns entries from `first` on, which have gone to another fifo.
  Expiries split_from(Position first);
  void clear();

 private:
  // The entries from `first` to `last` expire together.
  struct Run {
    Position first;
    Position last;
    Terms terms;
  };

  void drop_run();

  std::unique_ptr<std::deque<Run>> runs_;  // never empty
};

}  // namespace ringtail::queue
