#include "broker/confirms.h"

#include "broker/runtime/check.h"

namespace ringtail::broker {

std::uint64_t Confirms::open(std::uint32_t queues) {
  const std::uint64_t sequence = first_ + entries_.size();
  entries_.push_back({queues, false, false});
  if (queues == 0) settled_.push_back(sequence);
  return sequence;
}

void Confirms::settle(std::uint64_t sequence, bool rejected) {
  RT_CHECK(sequence >= first_ && sequence - first_ < entries_.size(),
           "a queue settled a publish that is not open");
  Entry& one = entry(sequence);
  RT_CHECK(one.queues_left > 0, "a queue settled a publish twice");
  one.rejected = one.rejected || rejected;
  if (--one.queues_left == 0) settled_.push_back(sequence);
}

bool Confirms::head_can_go() const {
  if (entries_.empty()) return false;
  const Entry& head = entries_.front();
  return head.reported || (head.queues_left == 0 && !head.rejected);
}

void Confirms::report(const std::function<void(std::uint64_t, bool)>& ack,
                      const std::function<void(std::uint64_t)>& nack) {
  for (const std::uint64_t sequence : settled_) {
    Entry& one = entry(sequence);
    if (!one.rejected) continue;
    nack(sequence);
    one.reported = true;
  }
  // The settled head: everything up to the last acknowledged entry in it with one ack. Entries that
  // were reported before may lie between; clients ignore a second report of the same number.
  std::uint64_t ack_up_to = 0;
  std::uint64_t newly_acked = 0;
  while (head_can_go()) {
    if (!entries_.front().reported) {
      ack_up_to = first_;
      ++newly_acked;
    }
    entries_.pop_front();
    ++first_;
  }
  if (newly_acked > 0) ack(ack_up_to, newly_acked > 1);
  for (const std::uint64_t sequence : settled_) {
    if (sequence < first_) continue;
    Entry& one = entry(sequence);
    if (one.reported) continue;
    ack(sequence, false);
    one.reported = true;
  }
  settled_.clear();
}

}  // namespace ringtail::broker
