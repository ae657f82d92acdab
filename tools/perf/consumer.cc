#include "tools/perf/consumer.h"

#include <fmt/format.h>

#include "tools/perf/arguments.h"

namespace ringtail::perf {

namespace {

// Before a channel that the broker closed is opened again: a queue that fails over needs a moment.
constexpr std::uint64_t kReopenDelayMs = 10;

// A consumer tag as the slot that it stands for; SIZE_MAX when it is none of ours.
std::size_t slot_of_tag(const std::uint8_t* at, std::size_t size) {
  if (size == 0 || size > 7) return SIZE_MAX;
  std::size_t slot = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (at[i] < '0' || at[i] > '9') return SIZE_MAX;
    slot = slot * 10 + (at[i] - '0');
  }
  return slot;
}

}  // namespace

Consumer::Consumer(runtime::Env& env, const Options& options, int index, Tally& tally,
                   Verifier& verifier, LoadEvents& events)
    : env_(env),
      options_(options),
      consumer_arguments_(encode_arguments(options.consumer_arguments)),
      tally_(tally),
      verifier_(verifier),
      events_(events),
      client_(
          env,
          options
              .consumer_targets[static_cast<std::size_t>(index) % options.consumer_targets.size()],
          options.heartbeat_s) {
  const QueueShare share(index, options.consumers, options.queues);
  for (int i = 0; i < share.count; ++i) subscriptions_.push_back({share.at(i), {}});
}

void Consumer::open() {
  client_.open(*this, [this] { subscribe(); });
}

void Consumer::subscribe() {
  unacked_ = 0;
  subscribed_ = 0;
  if (options_.prefetch != 0) {
    amqp::BasicQos qos;
    qos.prefetch_count = options_.prefetch;
    client_.call<amqp::BasicQosOk>(qos, nullptr);
  }
  for (std::size_t slot = 0; slot < subscriptions_.size(); ++slot) consume(slot);
  client_.flush();
}

void Consumer::consume(std::size_t slot) {
  const std::string queue = options_.queue_at(subscriptions_[slot].queue);
  const std::string tag = fmt::format("{}", slot);
  amqp::BasicConsume consume;
  consume.queue = queue;
  consume.consumer_tag = tag;
  consume.no_ack = options_.auto_ack;
  consume.arguments = runtime::as_bytes(consumer_arguments_);
  client_.call<amqp::BasicConsumeOk>(consume, [this](std::span<const std::uint8_t>) {
    if (++subscribed_ != subscriptions_.size() || ready_told_) return;
    ready_told_ = true;
    events_.ready();
  });
}

// --- deliveries ---

bool Consumer::on_frame(const amqp::Frame& frame) noexcept {
  switch (frame.type) {
    case amqp::FrameType::kMethod:
      return on_method(frame.payload);
    case amqp::FrameType::kHeader:
      if (frame.payload.size() < amqp::ContentHeader::kFixedSize) return true;
      content_.begin(amqp::load_u64(frame.payload.data() + 4));
      if (content_.body_size() == 0) on_message();
      return true;
    case amqp::FrameType::kBody:
      if (content_.add(frame.payload)) on_message();
      return true;
    case amqp::FrameType::kHeartbeat:
      return true;
  }
  return false;
}

bool Consumer::on_method(std::span<const std::uint8_t> payload) {
  if (payload.size() < 4) return false;
  switch (amqp::load_u32(payload.data())) {
    case amqp::kMethodKey<amqp::BasicDeliver>:
      on_deliver(payload.subspan(4));
      return true;
    case amqp::kMethodKey<amqp::BasicCancel>:
      on_cancel(payload.subspan(4));
      return true;
    default:
      return false;
  }
}

void Consumer::on_deliver(std::span<const std::uint8_t> arguments) {
  // The tag as a short string, the delivery tag, the bit `redelivered`; the rest does not matter.
  const std::size_t tag_size = arguments.empty() ? 0 : arguments[0];
  if (arguments.size() < 1 + tag_size + 9) return;
  const std::uint8_t* at = arguments.data() + 1;
  slot_ = subscriptions_.size() == 1 ? 0 : slot_of_tag(at, tag_size);
  delivery_tag_ = amqp::load_u64(at + tag_size);
  redelivered_ = (at[tag_size + 8] & 1) != 0;
}

void Consumer::on_message() {
  ++consumed_in_read_;
  const Stamp stamp = content_.stamp();
  if (slot_ < subscriptions_.size()) {
    const bool fresh = verifier_.delivered(stamp.identity, content_.body_size(), redelivered_,
                                           subscriptions_[slot_]);
    if (fresh && !verifier_.draining_only()) {
      const std::uint64_t now_ns = client_.read_ns();
      tally_.latency.record(now_ns > stamp.due_ns ? now_ns - stamp.due_ns : 0);
    }
  }
  if (options_.auto_ack) return;
  last_tag_ = delivery_tag_;
  if (++unacked_ >= options_.ack_batch) acknowledge();
}

void Consumer::acknowledge() {
  amqp::BasicAck ack;
  ack.delivery_tag = last_tag_;
  ack.multiple = unacked_ > 1;
  amqp::write_method(client_.out(), kChannel, ack);
  unacked_ = 0;
}

void Consumer::on_read_done() noexcept {
  if (consumed_in_read_ == 0) return;
  const std::uint64_t now_ns = client_.read_ns();
  tally_.consumed += consumed_in_read_;
  consumed_in_read_ = 0;
  if (tally_.first_delivery_ns == 0) tally_.first_delivery_ns = now_ns;
  tally_.deliveries.event(now_ns);
  tally_.last_progress_ns = now_ns;
  // A batch that stays open while nothing comes would hold the prefetch window shut.
  if (unacked_ != 0) acknowledge();
}

// --- trouble ---

void Consumer::on_cancel(std::span<const std::uint8_t> arguments) {
  amqp::BasicCancel cancel;
  if (!cancel.decode(arguments)) return;
  ++tally_.cancels;
  const std::string tag(cancel.consumer_tag);
  events_.note(fmt::format("{}: the broker cancelled consumer {}", client_.name(), tag));
  if (!cancel.nowait) {
    amqp::BasicCancelOk ok;
    ok.consumer_tag = tag;
    amqp::write_method(client_.out(), kChannel, ok);
  }
  const std::size_t slot =
      slot_of_tag(reinterpret_cast<const std::uint8_t*>(tag.data()), tag.size());
  if (options_.resubscribe && slot < subscriptions_.size()) consume(slot);
}

bool Consumer::on_channel_closed(const std::string& reason) noexcept {
  if (!options_.resubscribe) return false;
  events_.note(client_.name() + ": " + reason);
  reopen_timer_ = env_.timers().make([this] { client_.reopen([this] { subscribe(); }); });
  reopen_timer_->start(kReopenDelayMs);
  return true;
}

void Consumer::on_lost(const std::string& reason) noexcept {
  events_.lost("consumer at " + client_.name() + ": " + reason);
}

}  // namespace ringtail::perf
