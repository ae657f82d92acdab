// A channel's deliveries that its client leaves unacknowledged for too long: RabbitMQ's
// consumer_timeout. They end the channel, so that the messages go back to their queues.
//
// Deliveries are stamped with the time of the letter that brought them, and only while a timeout is
// in force; a timer looks at the oldest now and then. So the end comes up to a tenth of the timeout
// late, at most a minute.
#include <algorithm>

#include "broker/channel.h"
#include "broker/runtime/limits.h"

namespace ringtail::broker {

namespace {

// A stamp counts this long, so that 32 bits go round in two years.
constexpr std::uint64_t kStampUnitMs = 16;

}  // namespace

std::uint32_t Channel::ack_stamp() const {
  return static_cast<std::uint32_t>(shard_.env().clock().monotonic_ms() / kStampUnitMs);
}

void Channel::set_ack_timeout(QueueLink& link, std::uint64_t queue_timeout_ms) {
  link.ack_timeout_ms =
      queue_timeout_ms != 0 ? queue_timeout_ms : broker_shard_.config().consumer_timeout_ms;
  if (link.ack_timeout_ms == 0) return;
  const bool first = shortest_ack_timeout_ms_ == 0;
  if (!first && link.ack_timeout_ms >= shortest_ack_timeout_ms_) return;
  shortest_ack_timeout_ms_ = link.ack_timeout_ms;
  // What was sent before the first timeout has no stamp: its time begins now.
  if (first) unacked_.stamp(ack_stamp());
  ack_timer_running_ = false;
  watch_acks();
}

void Channel::watch_acks() {
  if (ack_timer_running_ || unacked_.count() == 0) return;
  if (ack_timer_ == nullptr) {
    ack_timer_ = shard_.env().timers().make([this] { look_at_acks(); });
  }
  ack_timer_running_ = true;
  ack_timer_->start(std::clamp<std::uint64_t>(shortest_ack_timeout_ms_ / runtime::kAckTimeoutChecks,
                                              1, runtime::kAckTimeoutCheckMs));
}

void Channel::look_at_acks() {
  ack_timer_running_ = false;
  if (ended_) return;
  const std::uint32_t now = ack_stamp();
  std::uint64_t passed_ms = 0;
  unacked_.look([&](const Unacked::Entry& entry) {
    const std::uint64_t age_ms = static_cast<std::uint32_t>(now - entry.stamp) * kStampUnitMs;
    if (age_ms <= shortest_ack_timeout_ms_) return false;  // and so are all behind it
    const std::uint64_t timeout_ms = entry.link->ack_timeout_ms;
    if (timeout_ms != 0 && age_ms > timeout_ms) passed_ms = timeout_ms;
    return passed_ms == 0;
  });
  if (passed_ms == 0) {
    watch_acks();
    return;
  }
  method_class_ = 0;  // no method of the client's is to blame
  method_id_ = 0;
  fail(amqp::acknowledgement_timed_out(number_, passed_ms));
}

}  // namespace ringtail::broker
