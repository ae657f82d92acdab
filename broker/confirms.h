// Publisher confirms that a channel still owes (RabbitMQ's confirm extension; class 85).
//
// Every publish gets the channel's next sequence number, from 1, and an entry that counts the
// queues which have yet to settle it. What is settled is reported in batches: one ack with
// `multiple` for the settled head, single acks behind a gap, nacks singly. Lives in its channel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

namespace ringtail::broker {

class Confirms {
 public:
  // Gives the next publish its number; `queues` have to settle it (0: nobody, it is settled at
  // once).
  std::uint64_t open(std::uint32_t queues);

  // One of the queues of publish `sequence` has settled it, or refused it.
  void settle(std::uint64_t sequence, bool rejected);

  // Something is there for report().
  bool has_news() const { return !settled_.empty(); }

  // Says what was settled since the last report. `ack(sequence, multiple)`, `nack(sequence)`.
  void report(const std::function<void(std::uint64_t, bool)>& ack,
              const std::function<void(std::uint64_t)>& nack);

  // Publishes not yet reported.
  std::size_t outstanding() const { return entries_.size(); }

 private:
  struct Entry {
    std::uint32_t queues_left = 0;
    bool rejected = false;
    bool reported = false;
  };
  Entry& entry(std::uint64_t sequence) {
    return entries_[static_cast<std::size_t>(sequence - first_)];
  }
  bool head_can_go() const;

  std::deque<Entry> entries_;  // of first_, first_ + 1, ...
  std::uint64_t first_ = 1;
  std::vector<std::uint64_t> settled_;  // since the last report, in the order of settling
};

}  // namespace ringtail::broker
