// The consumers of one queue and who of them is next: the highest priority first, within one
// priority round robin over those that can take a message. A consumer that can take none stands on
// no list, so that finding the next one costs the same however many are blocked.
//
// With a single active consumer only that one ever stands on a list. When it goes, the next one is
// that of the highest priority, among equals the oldest; a better one that comes later must wait.
#pragma once

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/set.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "broker/runtime/check.h"
#include "broker/runtime/credit.h"
#include "broker/runtime/limits.h"
#include "queue/letters.h"

namespace ringtail::queue {

struct ChannelLink;
struct PriorityLevel;

// One consumer. Owned by its channel's link; stays there after its cancellation until the messages
// it holds have been settled.
class Consumer : public boost::intrusive::list_base_hook<> {
 public:
  Consumer(ChannelLink& link, const Consume& letter);

  ChannelLink& link() const { return link_; }
  ConsumerId id() const { return id_; }
  const std::string& tag() const { return tag_; }
  bool no_ack() const { return no_ack_; }
  bool cancelled() const { return level_ == nullptr; }
  // Deliveries it was sent and has not settled; always 0 with no_ack.
  std::uint32_t unacked() const { return unacked_; }
  // Of unacknowledged deliveries; 0: any number.
  std::uint32_t prefetch() const { return unacked_limit_; }
  // Only when not cancelled().
  std::int32_t priority() const;

 private:
  friend class Consumers;

  bool channel_has_room() const;

  bool can_take() const {
    return !paused_ && (no_ack_ || channel_has_room()) &&
           (unacked_limit_ == 0 || unacked_ < unacked_limit_) &&
           written_messages_.position() < delivery_limit_ && written_messages_.open() &&
           written_bytes_.open();
  }

  ChannelLink& link_;
  PriorityLevel* level_ = nullptr;  // none: cancelled
  bool paused_ = false;
  const bool no_ack_;
  const ConsumerId id_;
  const std::uint32_t unacked_limit_;  // 0: none
  std::uint64_t delivery_limit_;       // total since Consume
  std::uint32_t unacked_ = 0;
  std::uint64_t age_ = 0;  // rises with each consumer of the queue
  runtime::Window written_messages_{runtime::kDeliverWindowMessages};
  runtime::Window written_bytes_;
  const std::string tag_;
};

// The consumers of one priority. Among the levels with somebody ready while `ready` is not empty.
struct PriorityLevel : boost::intrusive::set_base_hook<> {
  explicit PriorityLevel(std::int32_t value) : priority(value) {}
  const std::int32_t priority;
  std::size_t consumers = 0;
  boost::intrusive::list<Consumer, boost::intrusive::constant_time_size<false>> ready;
};

inline std::int32_t Consumer::priority() const { return level_->priority; }

// The highest priority comes first.
struct PriorityOrder {
  bool operator()(const PriorityLevel& left, const PriorityLevel& right) const {
    return left.priority > right.priority;
  }
};

// Lives in its queue, on the queue's shard. Knows the consumers that are not cancelled; they must
// be removed before they are destroyed.
class Consumers {
 public:
  explicit Consumers(bool single_active = false) : single_active_(single_active) {}

  // May a consumer be added? An exclusive one only as the first, none beside an exclusive one; none
  // is exclusive where one is active at a time anyway.
  bool admits(bool exclusive) const {
    return exclusive_ == nullptr && (!exclusive || (count_ == 0 && !single_active_));
  }
  void add(Consumer& consumer, std::int32_t priority, bool exclusive);
  // Cancelled from here on. Only when it was added and not removed.
  void remove(Consumer& consumer);

  std::uint32_t count() const { return count_; }
  // Whether there ever was one.
  bool had_any() const { return had_any_; }
  bool is_exclusive(const Consumer& consumer) const { return exclusive_ == &consumer; }
  // Not cancelled, and not waiting behind the single active one.
  bool is_active(const Consumer& consumer) const {
    return !consumer.cancelled() && (!single_active_ || active_ == &consumer);
  }

  // Who takes the next message; null: nobody can.
  Consumer* next() {
    while (!ready_levels_.empty()) {
      Consumer& first = ready_levels_.begin()->ready.front();
      // A delivery to another consumer of its channel may have used up what they share.
      if (first.can_take()) return &first;
      unlist(first);
    }
    return nullptr;
  }
  // The consumer that next() named was sent a message of this footprint.
  void sent(Consumer& consumer, std::size_t footprint) {
    consumer.written_messages_.sent(1);
    consumer.written_bytes_.sent(footprint);
    if (!consumer.no_ack_) {
      ++consumer.unacked_;
      count_for_channel(consumer);
    }
    if (!consumer.can_take()) {
      unlist(consumer);
      return;
    }
    auto& ready = consumer.level_->ready;
    if (&ready.front() != &ready.back()) {
      ready.splice(ready.end(), ready, ready.iterator_to(consumer));
    }
  }
  // One of the consumer's messages was acknowledged or came back. Also after its removal.
  void settled(Consumer& consumer) {
    RT_DCHECK(consumer.unacked_ > 0, "settled more than was sent");
    --consumer.unacked_;
    if (!consumer.is_linked()) place(consumer);
  }
  // The channel's report. True: it ended a pause.
  bool credit(Consumer& consumer, const Credit& letter);

 private:
  using ReadyLevels = boost::intrusive::set<PriorityLevel, boost::intrusive::compare<PriorityOrder>,
                                            boost::intrusive::constant_time_size<false>>;

  static void count_for_channel(Consumer& consumer);
  // Puts the consumer on its ready list, or off it, as it can take messages or not.
  void place(Consumer& consumer);
  void unlist(Consumer& consumer);
  void activate_next();

  // Who comes first as the single active consumer.
  struct Successor {
    std::int32_t priority;
    std::uint64_t age;
    bool operator<(const Successor& other) const {
      return priority != other.priority ? priority > other.priority : age < other.age;
    }
  };

  const bool single_active_;
  Consumer* active_ = nullptr;              // the single one
  std::map<Successor, Consumer*> waiting_;  // behind it
  std::uint64_t last_age_ = 0;
  // Only looked up by priority; the order does not matter here.
  std::map<std::int32_t, PriorityLevel> levels_;
  ReadyLevels ready_levels_;
  const Consumer* exclusive_ = nullptr;
  std::uint32_t count_ = 0;
  bool had_any_ = false;
};

}  // namespace ringtail::queue
