#include "queue/consumers.h"

#include <algorithm>

#include "broker/runtime/check.h"
#include "queue/channel_link.h"

namespace ringtail::queue {

Consumer::Consumer(ChannelLink& link, const Consume& letter)
    : link_(link),
      no_ack_(letter.no_ack),
      id_(letter.consumer),
      unacked_limit_(letter.no_ack ? 0 : letter.prefetch),
      delivery_limit_(letter.delivery_limit),
      written_bytes_(letter.window_bytes),
      tag_(letter.tag) {
  link_.delivery_limit = letter.channel_limit;
}

bool Consumer::channel_has_room() const { return link_.deliveries < link_.delivery_limit; }

void Consumers::count_for_channel(Consumer& consumer) { ++consumer.link_.deliveries; }

void Consumers::add(Consumer& consumer, std::int32_t priority, bool exclusive) {
  RT_CHECK(admits(exclusive), "a consumer that is not admitted");
  auto [level, created] = levels_.try_emplace(priority, priority);
  consumer.level_ = &level->second;
  ++consumer.level_->consumers;
  ++count_;
  had_any_ = true;
  if (exclusive) exclusive_ = &consumer;
  consumer.age_ = ++last_age_;
  if (!single_active_) {
    place(consumer);
    return;
  }
  waiting_.emplace(Successor{priority, consumer.age_}, &consumer);
  if (active_ == nullptr) activate_next();
}

void Consumers::activate_next() {
  active_ = nullptr;
  if (waiting_.empty()) return;
  active_ = waiting_.begin()->second;
  waiting_.erase(waiting_.begin());
  place(*active_);
}

void Consumers::remove(Consumer& consumer) {
  RT_CHECK(!consumer.cancelled(), "a consumer that was removed before");
  if (consumer.is_linked()) unlist(consumer);
  PriorityLevel& level = *consumer.level_;
  waiting_.erase({level.priority, consumer.age_});
  consumer.level_ = nullptr;
  --count_;
  if (exclusive_ == &consumer) exclusive_ = nullptr;
  if (active_ == &consumer) activate_next();
  if (--level.consumers == 0) levels_.erase(level.priority);
}

bool Consumers::credit(Consumer& consumer, const Credit& letter) {
  const bool resumed = consumer.paused_ && !letter.paused;
  consumer.paused_ = letter.paused;
  consumer.delivery_limit_ = letter.delivery_limit;
  consumer.written_bytes_.set_limit(letter.window_bytes);
  // Never beyond what was sent, whatever another node says.
  consumer.written_messages_.settled(
      std::min(letter.written_messages, consumer.written_messages_.position()));
  consumer.written_bytes_.settled(
      std::min(letter.written_bytes, consumer.written_bytes_.position()));
  if (consumer.link_.delivery_limit == letter.channel_limit) {
    place(consumer);
  } else {
    consumer.link_.delivery_limit = letter.channel_limit;
    for (auto& [id, other] : consumer.link_.consumers) place(*other);
  }
  return resumed;
}

void Consumers::place(Consumer& consumer) {
  if (!is_active(consumer) || consumer.can_take() == consumer.is_linked()) return;
  if (consumer.is_linked()) {
    unlist(consumer);
    return;
  }
  PriorityLevel& level = *consumer.level_;
  if (level.ready.empty()) ready_levels_.insert(level);
  level.ready.push_back(consumer);
}

void Consumers::unlist(Consumer& consumer) {
  PriorityLevel& level = *consumer.level_;
  level.ready.erase(level.ready.iterator_to(consumer));
  if (level.ready.empty()) ready_levels_.erase(ready_levels_.iterator_to(level));
}

}  // namespace ringtail::queue
