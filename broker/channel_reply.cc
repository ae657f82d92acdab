// A channel's part in direct reply-to (direct_reply.h).
#include "broker/amqp/frame_writer.h"
#include "broker/channel.h"
#include "broker/direct_reply.h"

namespace ringtail::broker {

void Channel::consume_replies(const amqp::BasicConsume& method, const std::string& tag) {
  if (!reply_name_.empty()) {
    fail(amqp::precondition_failed("reply consumer already set"));
    return;
  }
  if (!method.no_ack) {
    fail(amqp::precondition_failed("reply consumer cannot acknowledge"));
    return;
  }
  reply_name_ = make_reply_name(broker_shard_);
  reply_tag_ = tag;
  broker_shard_.add_reply_consumer(reply_name_, address_);
  if (!method.nowait) reply(amqp::BasicConsumeOk{.consumer_tag = tag});
}

void Channel::stop_replies() {
  if (reply_name_.empty()) return;
  broker_shard_.remove_reply_consumer(reply_name_);
  reply_name_.clear();
  reply_tag_.clear();
}

// The request's reply_to becomes the name that leads back here. False: the channel has failed.
bool Channel::fill_in_reply_to(std::span<const std::uint8_t> properties, std::string& rewritten) {
  if (reply_name_.empty()) {
    fail(amqp::precondition_failed("fast reply consumer does not exist"));
    return false;
  }
  auto decoded = amqp::BasicProperties::decode(properties);
  RT_CHECK(decoded.has_value(), "properties that were valid before");
  decoded->reply_to = reply_name_;
  rewritten = decoded->encode();
  return true;
}

void Channel::publish_reply(const queue::MessageRef& message, bool mandatory) {
  const auto place = place_of_reply_name(message->routing_key());
  if (!place || !is_reached(*place)) {
    if (mandatory) return_message(*message, amqp::ReplyCode::kNoRoute);
    return;
  }
  auto letter = std::make_unique<DirectReply>();
  letter->name = std::string(message->routing_key());
  letter->message = message;
  shard_.post(address_, BrokerShard::address_of(place->node, place->shard), std::move(letter));
}

// How many shards another node has is not known here; it drops what is for one that it has not.
bool Channel::is_reached(const ReplyPlace& place) const {
  if (place.node == shard_.node()) return place.shard.value < broker_shard_.shards();
  return broker_shard_.knows_node(place.node) && broker_shard_.node_is_up(place.node);
}

void Channel::deliver_reply(const queue::Message& message) {
  // Nobody throttles who answers, so an asker that does not read loses answers instead of memory.
  if (reply_name_.empty() || connection_.output_overflows()) return;
  amqp::write_deliver(connection_.out(), {.channel = number_,
                                          .redelivered = false,
                                          .frame_max = connection_.frame_max(),
                                          .delivery_tag = next_tag_++,
                                          .consumer_tag = reply_tag_,
                                          .route = message.route(),
                                          .content = content_of(message)});
  connection_.output_added();
}

// queue.declare of a reply name asks whether the asker is still there.
void Channel::probe_reply(const std::string& name, bool no_wait) {
  const auto answer = [this, name, no_wait](bool exists) {
    if (exists) {
      queue_declared(name, 0, 1, no_wait);
    } else {
      fail(amqp::not_found_queue(connection_.vhost(), name));
    }
  };
  if (name == kReplyTo) return answer(true);
  const auto place = place_of_reply_name(name);
  if (!place || !is_reached(*place)) return answer(false);
  auto letter = std::make_unique<ProbeReply>();
  letter->request = next_request_++;
  letter->name = name;
  awaited_.add(letter->request, place->node, [answer](runtime::Letter& probed) {
    answer(runtime::letter_cast<ReplyProbed>(probed).exists);
  });
  const bool here = place->node == shard_.node();
  shard_.post(address_,
              BrokerShard::address_of(place->node, here ? place->shard : runtime::ShardId{0}),
              std::move(letter));
}

}  // namespace ringtail::broker
