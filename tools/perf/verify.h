// Holds what came back against what was sent: every message by its number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "tools/perf/options.h"
#include "tools/perf/sequence_set.h"
#include "tools/perf/stamp.h"

namespace ringtail::perf {

// The queues that producer or consumer `member` of `members` works on: with fewer members than
// queues each has several, with more several share one.
struct QueueShare {
  QueueShare(int member, int members, int queues)
      : step(members < queues ? members : queues),
        first(member % step),
        count((queues - first + step - 1) / step) {}
  int at(int slot) const { return first + slot * step; }

  int step;
  int first;
  int count;
};

// One consumer's view of one queue: the number it may see next of each producer.
struct Subscription {
  int queue = 0;
  std::vector<std::uint64_t> next;  // by the verifier's track
};

struct Faults {
  std::uint64_t duplicated = 0;   // came a second time
  std::uint64_t reordered = 0;    // first delivery, behind a later one of the same producer
  std::uint64_t misrouted = 0;    // from a queue that it was not sent to
  std::uint64_t damaged = 0;      // another size than was sent
  std::uint64_t redelivered = 0;  // marked by the broker as delivered before; no fault in itself
  std::uint64_t foreign = 0;      // not of this run: left in the queue by another
};

// Owned by the job of one run. With producers it expects this run's messages and calls others
// foreign; without (draining only) it takes every run's and looks for holes in their numbers.
class Verifier {
 public:
  Verifier(const Options& options, std::uint16_t run);

  // A whole message has come. True: of this run and not seen before in this queue.
  bool delivered(const Identity& identity, std::uint64_t body_size, bool redelivered,
                 Subscription& subscription);

  const Faults& faults() const { return faults_; }
  // Messages, counted once per queue where every queue gets a copy.
  std::uint64_t unique() const { return unique_; }
  // How often each published message is to be seen.
  std::uint64_t copies() const { return copies_; }
  bool draining_only() const { return producers_ == 0; }

  // Calls visit(number) for each number below `published` of that producer which a queue that was
  // to have it has not delivered; once per such queue.
  template <typename Visit>
  void each_missing(int producer, std::uint64_t published, Visit visit) const {
    for (std::size_t copy = 0; copy < copies_; ++copy) {
      const SequenceSet& seen = sets_[static_cast<std::size_t>(producer) * copies_ + copy];
      if (seen.count() == published) continue;
      for (std::uint64_t n = seen.full_below(); n < published; ++n) {
        if (!seen.contains(n)) visit(n);
      }
    }
  }
  // Draining only: numbers never seen below the highest that was, over all runs and producers.
  std::uint64_t holes() const;

 private:
  // Producers of all runs seen, when draining only.
  using TrackMap = std::map<std::uint32_t, std::size_t>;

  bool is_ours(const Identity& identity) const {
    return producers_ == 0 || (identity.run == run_ && identity.producer < producers_);
  }
  std::size_t track_of(const Identity& identity) {
    return producers_ != 0 ? identity.producer : find_track(identity);
  }
  std::size_t find_track(const Identity& identity);
  bool expected_in(const Identity& identity, int queue) const;
  void check_order(std::size_t track, std::uint64_t number, Subscription& subscription);

  const std::uint16_t run_;
  const int producers_;
  const Spread spread_;
  const std::uint64_t body_size_;
  const std::size_t copies_;
  std::vector<QueueShare> shares_;  // by producer
  std::vector<SequenceSet> sets_;   // by track and copy
  TrackMap tracks_;
  std::uint64_t unique_ = 0;
  Faults faults_;
};

}  // namespace ringtail::perf
