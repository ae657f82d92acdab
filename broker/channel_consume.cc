// A channel's second job: consumers, deliveries, and what clients say about them.
#include <algorithm>

#include "broker/amqp/field_table.h"
#include "broker/amqp/frame_writer.h"
#include "broker/channel_ask.h"
#include "broker/direct_reply.h"
#include "broker/queue_arguments.h"

namespace ringtail::broker {

using cluster::metadata::QueueRecord;

namespace {

// The properties with the header that tells how often the message came back, as RabbitMQ's queues
// with a delivery limit write it.
std::string with_delivery_count(std::span<const std::uint8_t> properties, std::uint16_t count) {
  auto decoded = amqp::BasicProperties::decode(properties);
  RT_CHECK(decoded.has_value(), "properties that were valid before");
  if (!decoded->headers) decoded->headers.emplace();
  decoded->headers->set("x-delivery-count", std::int64_t{count});
  return decoded->encode();
}

}  // namespace

// --- basic.qos, basic.consume, basic.cancel -----------------------------------------------------

// RabbitMQ's meaning of global: false is for each consumer started from now on, true for the
// channel.
void Channel::qos(const amqp::BasicQos& method) {
  if (method.prefetch_size != 0) {
    fail(amqp::prefetch_size_not_implemented(method.prefetch_size));
    return;
  }
  if (method.global) {
    global_prefetch_ = method.prefetch_count;
    share_global_prefetch();
  } else {
    prefetch_ = method.prefetch_count;
  }
  reply(amqp::BasicQosOk{});
}

void Channel::consume(const amqp::BasicConsume& method) {
  const std::string tag = method.consumer_tag.empty() ? broker_shard_.generate_name("amq.ctag-")
                                                      : std::string(method.consumer_tag);
  if (consumers_by_tag_.contains(tag) || tag == reply_tag_) {
    fail(amqp::consumer_tag_in_use(tag));
    return;
  }
  if (method.queue == kReplyTo) {
    consume_replies(method, tag);
    return;
  }
  const std::uint32_t most = broker_shard_.config().consumer_max_per_channel;
  if (most != 0 && consumers_.size() >= most) {
    fail(amqp::too_many_consumers(most));
    return;
  }
  const auto record = usable_queue(method.queue, amqp::Permission::kRead);
  if (record == nullptr) return;
  std::int32_t priority = 0;
  if (check_consumer(method, *record, priority)) consume_from(record, method, tag, priority);
}

bool Channel::check_consumer(const amqp::BasicConsume& method, const QueueRecord& record,
                             std::int32_t& priority) {
  amqp::AmqpError error;
  ConsumerArguments arguments;
  if (!decode_consumer_arguments(method.arguments, record.vhost, record.name, record.options.type,
                                 arguments, error)) {
    fail(std::move(error));
    return false;
  }
  if (method.exclusive && record.options.single_active_consumer) {
    fail(amqp::queue_in_exclusive_use(record.vhost, record.name));
    return false;
  }
  priority = arguments.priority;
  return true;
}

void Channel::consume_from(const std::shared_ptr<const QueueRecord>& record,
                           const amqp::BasicConsume& method, const std::string& tag,
                           std::int32_t priority) {
  auto consumer = std::make_unique<Consumer>();
  consumer->id = next_consumer_++;
  consumer->tag = tag;
  consumer->link = &link_to(record);
  consumer->no_ack = method.no_ack;
  consumer->exclusive = method.exclusive;
  consumer->prefetch = prefetch_;
  consumer->priority = priority;
  consumer->arguments = runtime::as_text(method.arguments);
  ++consumer->link->consumers;
  connection_.count_consumers(1);

  auto request = subscription(*consumer);
  consumers_[consumer->id] = consumer.get();
  consumers_by_tag_[tag] = std::move(consumer);
  ask(link_to(record), std::move(request),
      [this, name = record->name, no_wait = method.nowait](runtime::Letter& letter) {
        consume_answered(runtime::letter_cast<queue::ConsumeOk>(letter), name, no_wait);
      });
}

void Channel::consume_ok(runtime::LetterPtr letter) {
  const auto& answer = runtime::letter_cast<queue::ConsumeOk>(*letter);
  Consumer* consumer = consumer_of(answer.consumer);
  if (consumer != nullptr && consumer->subscribing != 0 &&
      consumer->subscribing == answer.request) {
    subscribed_again(*consumer, answer);
  } else {
    answered<queue::ConsumeOk>(std::move(letter));
  }
}

void Channel::consume_answered(const queue::ConsumeOk& answer, const std::string& queue_name,
                               bool no_wait) {
  Consumer* consumer = consumer_of(answer.consumer);
  if (consumer == nullptr) return;
  consumer->asked = false;
  if (answer.answer == queue::Answer::kOk) {
    set_ack_timeout(*consumer->link, answer.consumer_timeout_ms);
    if (!no_wait) reply(amqp::BasicConsumeOk{.consumer_tag = consumer->tag});
    return;
  }
  forget_consumer(*consumer);
  fail(answer.answer == queue::Answer::kExclusiveUse
           ? amqp::queue_in_exclusive_use(connection_.vhost(), queue_name)
           : unusable_queue(answer.answer, connection_.vhost(), queue_name));
}

void Channel::cancel(const amqp::BasicCancel& method) {
  const std::string tag(method.consumer_tag);
  if (!tag.empty() && tag == reply_tag_) stop_replies();
  const auto found = consumers_by_tag_.find(tag);
  if (found == consumers_by_tag_.end()) {
    if (!method.nowait) reply(amqp::BasicCancelOk{.consumer_tag = tag});
    return;
  }
  Consumer& consumer = *found->second;
  auto request = std::make_unique<queue::Cancel>(consumer.link->record->qid);
  request->consumer = consumer.id;
  ask(*consumer.link, std::move(request),
      [this, id = consumer.id, tag, no_wait = method.nowait](runtime::Letter&) {
        if (Consumer* gone = consumer_of(id)) forget_consumer(*gone);
        if (!no_wait) reply(amqp::BasicCancelOk{.consumer_tag = tag});
      });
}

// The queue has ended a consumer.
void Channel::cancelled(const queue::Cancelled& letter) {
  Consumer* consumer = consumer_of(letter.consumer);
  if (consumer == nullptr) return;
  const std::string tag = consumer->tag;
  forget_consumer(*consumer);
  if (connection_.client_can_hear_cancel()) {
    reply(amqp::BasicCancel{.consumer_tag = tag, .nowait = true});
  }
}

Channel::Consumer* Channel::consumer_of(queue::ConsumerId id) {
  if (last_consumer_ != nullptr && last_consumer_->id == id) return last_consumer_;
  const auto found = consumers_.find(id);
  if (found == consumers_.end()) return nullptr;
  last_consumer_ = found->second;
  return last_consumer_;
}

void Channel::forget_consumer(Consumer& consumer) {
  if (last_consumer_ == &consumer) last_consumer_ = nullptr;
  std::erase(credit_due_, &consumer);
  --consumer.link->consumers;
  if (consumer.link->paused_consumer == consumer.id) consumer.link->paused_consumer = 0;
  connection_.count_consumers(-1);
  consumers_.erase(consumer.id);
  consumers_by_tag_.erase(std::string(consumer.tag));
}

// --- deliveries ---------------------------------------------------------------------------------

void Channel::deliver(queue::Deliver& letter) {
  const auto found = links_.find(letter.qid);
  if (found == links_.end()) return;
  const bool timed = shortest_ack_timeout_ms_ != 0;
  const std::uint32_t stamp = timed ? ack_stamp() : 0;
  for (queue::Delivery& delivery : letter.deliveries) deliver_one(*found->second, delivery, stamp);
  if (timed) watch_acks();
  connection_.output_added();
}

void Channel::deliver_one(QueueLink& link, queue::Delivery& delivery, std::uint32_t stamp) {
  Consumer* consumer = consumer_of(delivery.consumer);
  if (consumer == nullptr) {
    if (delivery.token == 0 || delivery.consumer < link.first_consumer) return;
    ++link.received;
    bounce(link, delivery.token);
    return;
  }
  if (!consumer->no_ack) ++link.received;
  const queue::Message& message = *delivery.message;
  if (!consumer->no_ack && (link.paused_consumer != 0 || over_global_prefetch())) [[unlikely]] {
    pause(*consumer);
    bounce(link, delivery.token);
    prefetch_changed_ = true;  // what came back counts as received: the limit moves on
  } else {
    const std::uint64_t tag = next_tag_++;
    if (!consumer->no_ack) {
      unacked_.add({tag, &link, delivery.token, consumer->id, stamp});
      ++link.unacked;
    }
    if (delivery.delivery_count == 0) [[likely]] {
      write_delivery(*consumer, delivery, tag, content_of(message));
    } else {
      write_counted_delivery(*consumer, delivery, tag);
    }
  }
  ++consumer->written_messages;
  consumer->written_bytes += message.footprint();
  if (!consumer->credit_due) want_credit(*consumer);
}

void Channel::write_delivery(const Consumer& consumer, const queue::Delivery& delivery,
                             std::uint64_t tag, const amqp::Content& content) {
  amqp::write_deliver(connection_.out(), {.channel = number_,
                                          .redelivered = delivery.redelivered,
                                          .frame_max = connection_.frame_max(),
                                          .delivery_tag = tag,
                                          .consumer_tag = consumer.tag,
                                          .route = delivery.message->route(),
                                          .content = content});
}

// Apart, so that other deliveries do not pay for the text.
[[gnu::noinline]] void Channel::write_counted_delivery(const Consumer& consumer,
                                                       const queue::Delivery& delivery,
                                                       std::uint64_t tag) {
  amqp::Content content = content_of(*delivery.message);
  const std::string counted = with_delivery_count(content.properties, delivery.delivery_count);
  content.properties = runtime::as_bytes(counted);
  write_delivery(consumer, delivery, tag, content);
}

// The consumer is to hear how far its deliveries are written when there is room for more.
void Channel::want_credit(Consumer& consumer) {
  consumer.credit_due = true;
  if (credit_due_.empty()) connection_.credit_due(*this);
  credit_due_.push_back(&consumer);
}

// Tells queues how far their deliveries have been written, when that is a good part of the window.
void Channel::output_written() {
  for (Consumer* consumer : credit_due_) {
    consumer->credit_due = false;
    if (std::exchange(consumer->held_back, false) ||
        consumer->written_messages - consumer->reported_messages >=
            runtime::kDeliverWindowMessages / 4 ||
        consumer->written_bytes - consumer->reported_bytes >= runtime::kDeliverWindowBytes / 4) {
      send_credit(*consumer);
    }
  }
  credit_due_.clear();
}

void Channel::send_credit(Consumer& consumer) {
  if (consumer.subscribe_due || consumer.link->waiting()) return;  // it is told when it can be
  consumer.reported_messages = consumer.written_messages;
  consumer.reported_bytes = consumer.written_bytes;
  auto credit = std::make_unique<queue::Credit>(consumer.link->record->qid);
  credit->epoch = consumer.link->epoch;
  credit->consumer = consumer.id;
  credit->written_messages = consumer.written_messages;
  credit->written_bytes = consumer.written_bytes;
  credit->window_bytes = connection_.window_per_consumer();
  if (consumer.held_back) credit->delivery_limit = 0;
  credit->channel_limit = channel_limit(*consumer.link);
  credit->paused = consumer.link->paused_consumer == consumer.id && !consumer.link->resuming;
  shard_.post(address_, consumer.link->address, std::move(credit));
}

// --- the global prefetch ------------------------------------------------------------------------

std::uint64_t Channel::channel_limit(const QueueLink& link) const {
  if (global_prefetch_ == 0) return queue::kNoDeliveryLimit;
  const std::uint64_t now = held();
  return link.received + (now < global_prefetch_ ? global_prefetch_ - now : 0);
}

void Channel::bounce(QueueLink& link, queue::DeliveryToken token) {
  if (!link.bounces) {
    link.bounces = std::make_unique<queue::Requeue>(link.record->qid);
    link.bounces->redelivered = false;
    touch(link);
  }
  link.bounces->tokens.push_back(token);
}

// With the limit that this credit carries the queue sends nothing more to any consumer of this
// channel; what is on its way goes back, or later messages would overtake the one that did.
void Channel::pause(Consumer& consumer) {
  QueueLink& link = *consumer.link;
  if (link.paused_consumer != 0) return;
  link.paused_consumer = consumer.id;
  link.resuming = false;
  send_credit(consumer);
}

// After acks, or a change of the limit: every consumer may be sent what there is room for.
void Channel::share_global_prefetch() {
  prefetch_changed_ = false;
  for (auto& [tag, consumer] : consumers_by_tag_) {
    if (consumer->no_ack) continue;
    if (consumer->link->paused_consumer == consumer->id && !over_global_prefetch()) {
      consumer->link->resuming = true;
    }
    send_credit(*consumer);
  }
}

void Channel::resumed(const queue::Resumed& letter) {
  Consumer* consumer = consumer_of(letter.consumer);
  if (consumer == nullptr || consumer->link->paused_consumer != consumer->id) return;
  if (consumer->link->resuming) consumer->link->paused_consumer = 0;
}

// --- basic.get ----------------------------------------------------------------------------------

void Channel::get(const amqp::BasicGet& method) {
  const auto record = usable_queue(method.queue, amqp::Permission::kRead);
  if (record == nullptr) return;
  auto request = std::make_unique<queue::Get>(record->qid);
  request->no_ack = method.no_ack;
  ask(link_to(record), std::move(request),
      [this, record, no_ack = method.no_ack](runtime::Letter& letter) {
        got(link_to(record), no_ack, runtime::letter_cast<queue::GetResult>(letter));
      });
}

void Channel::got(QueueLink& link, bool no_ack, queue::GetResult& result) {
  if (result.answer != queue::Answer::kOk) {
    fail(unusable_queue(result.answer, connection_.vhost(), link.record->name));
    return;
  }
  if (!result.message) {
    reply(amqp::BasicGetEmpty{});
    return;
  }
  const std::uint64_t tag = next_tag_++;
  if (!no_ack) {
    set_ack_timeout(link, result.consumer_timeout_ms);
    const bool timed = shortest_ack_timeout_ms_ != 0;
    unacked_.add({tag, &link, result.token, 0, timed ? ack_stamp() : 0});
    ++link.unacked;
    if (timed) watch_acks();
  }
  amqp::Content content = content_of(*result.message);
  std::string counted;
  if (result.delivery_count != 0) {
    counted = with_delivery_count(content.properties, result.delivery_count);
    content.properties = runtime::as_bytes(counted);
  }
  amqp::write_get_ok(connection_.out(),
                     {.channel = number_,
                      .redelivered = result.redelivered,
                      .frame_max = connection_.frame_max(),
                      .delivery_tag = tag,
                      .message_count = static_cast<std::uint32_t>(
                          std::min<std::uint64_t>(result.messages_ready, UINT32_MAX)),
                      .route = result.message->route(),
                      .content = content});
  connection_.output_added();
}

// --- ack, nack, reject, recover -----------------------------------------------------------------

void Channel::ack(const amqp::BasicAck& method) {
  give_back(method.delivery_tag, method.multiple, TxAck::What::kAck);
}

void Channel::nack(const amqp::BasicNack& method) {
  give_back(method.delivery_tag, method.multiple,
            method.requeue ? TxAck::What::kRequeue : TxAck::What::kReject);
}

void Channel::reject(const amqp::BasicReject& method) {
  give_back(method.delivery_tag, false,
            method.requeue ? TxAck::What::kRequeue : TxAck::What::kReject);
}

void Channel::give_back(std::uint64_t tag, bool multiple, TxAck::What what) {
  const auto taken = [&](const Unacked::Entry& entry) {
    if (mode_ == Mode::kTx) {
      tx_acks_.push_back({entry, what});
    } else {
      finish(entry, what);
    }
  };
  Unacked::Entry entry;
  if (!multiple) {
    if (!unacked_.take(tag, entry)) {
      fail(amqp::unknown_delivery_tag(tag));
      return;
    }
    taken(entry);
    return;
  }
  // Tag 0 means all there are, and is right even when there are none.
  if (tag != 0 && !unacked_.contains(tag)) {
    fail(amqp::unknown_delivery_tag(tag));
    return;
  }
  unacked_.take_up_to(tag == 0 ? UINT64_MAX : tag, taken);
}

// Tells the queue what became of a delivery, with the batch of this turn.
void Channel::finish(const Unacked::Entry& entry, TxAck::What what) {
  QueueLink& link = *entry.link;
  --link.unacked;
  if (link.lost) [[unlikely]] {
    finish_lost(link);
    return;
  }
  touch(link);
  const auto add = [&](auto& batch) {
    using Batch = typename std::remove_reference_t<decltype(batch)>::element_type;
    if (!batch) batch = std::make_unique<Batch>(link.record->qid);
    batch->tokens.push_back(entry.token);
  };
  switch (what) {
    case TxAck::What::kAck:
      add(link.acks);
      break;
    case TxAck::What::kReject:
      add(link.rejects);
      link.rejects->rejected = true;
      break;
    case TxAck::What::kRequeue:
      add(link.requeues);
      break;
  }
  if (global_prefetch_ != 0) prefetch_changed_ = true;
}

void Channel::recover(const amqp::BasicRecover& method) {
  if (requeue_all(method.requeue)) reply(amqp::BasicRecoverOk{});
}

void Channel::recover_async(const amqp::BasicRecoverAsync& method) { requeue_all(method.requeue); }

bool Channel::requeue_all(bool requeue) {
  if (!requeue) {
    fail(amqp::not_implemented("requeue=false"));
    return false;
  }
  unacked_.take_up_to(
      UINT64_MAX, [this](const Unacked::Entry& entry) { finish(entry, TxAck::What::kRequeue); });
  return true;
}

}  // namespace ringtail::broker
