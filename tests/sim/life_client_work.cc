// What a LifeClient does on its channels.
#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>

#include "broker/amqp/content_header.h"
#include "tests/sim/life_client.h"

namespace ringtail::sim {

namespace {

std::string properties_of(bool persistent) {
  amqp::BasicProperties properties;
  properties.delivery_mode = static_cast<std::uint8_t>(persistent ? 2 : 1);
  return properties.encode();
}

std::string queue_name(std::uint64_t number) { return "q" + std::to_string(number); }
std::string key_name(std::uint64_t number) { return "k" + std::to_string(number); }

}  // namespace

std::string LifeClient::random_declared() {
  if (common_.declared.empty()) return {};
  auto at = common_.declared.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(rng_.below(common_.declared.size())));
  return *at;
}

// --- publishing ----------------------------------------------------------------------------------

void LifeClient::publish() {
  if (steps_[1] != Step::kOpen) return;
  for (std::uint64_t count = rng_.between(1, 6); count > 0; --count) publish_one();
}

void LifeClient::publish_one() {
  const MessageId id{publisher_, last_number_ + 1};
  const bool persistent = rng_.chance(0.85);
  std::set<std::string> must;
  std::set<std::string> may;
  std::string exchange;
  std::string key;
  if (rng_.chance(0.3)) {
    exchange = "amq.direct";
    const auto number = static_cast<std::uint32_t>(rng_.below(CommonKnowledge::kKeys));
    key = key_name(number);
    if (node_knows_all()) must = common_.bound[key];
    for (std::uint32_t queue = 0; queue < CommonKnowledge::kQueues; ++queue) {
      if (CommonKnowledge::may_bind(queue, number)) may.insert(queue_name(queue));
    }
  } else {
    key = random_declared();
    if (key.empty()) return;
    may = {key};
    if (node_knows_all() || cluster_.knows_queue(node_, key)) must = may;
  }
  if (!persistent) must.clear();
  ++last_number_;
  common_.ledger.publishing(id, must, may);
  unconfirmed_[id.number] = id;
  const std::uint64_t size = rng_.chance(0.03) ? rng_.between(4000, 40000) : rng_.between(0, 200);
  client_->publish(1, exchange, key, id.text() + std::string(size, 'x'), false,
                   properties_of(persistent));
}

// The node has the channel's publishes up to there, or has refused them.
void LifeClient::settle(std::uint64_t tag, bool multiple, bool acknowledged) {
  REQUIRE((multiple || unconfirmed_.contains(tag)));
  auto at = multiple ? unconfirmed_.begin() : unconfirmed_.find(tag);
  while (at != unconfirmed_.end() && at->first <= tag) {
    if (acknowledged) common_.ledger.confirmed(at->second);
    at = unconfirmed_.erase(at);
    if (!multiple) break;
  }
}

// --- consuming -----------------------------------------------------------------------------------

void LifeClient::consume() {
  if (steps_[2] != Step::kOpen || consumers_.size() + consuming_.size() > 3) return;
  const std::string queue = random_declared();
  if (queue.empty()) return;
  const std::string tag = "c" + std::to_string(++common_.names);
  consuming_[tag] = queue;
  client_->send(2, amqp::BasicConsume{.queue = queue, .consumer_tag = tag, .arguments = {}});
}

void LifeClient::cancel() {
  for (auto& [tag, consumer] : consumers_) {
    if (consumer.cancelling || !rng_.chance(0.4)) continue;
    consumer.cancelling = true;
    client_->send(2, amqp::BasicCancel{.consumer_tag = tag});
    return;
  }
}

void LifeClient::got_delivery(const ServerFrame& frame) {
  const auto deliver = frame.as<amqp::BasicDeliver>();
  const auto consumer = consumers_.find(std::string(deliver.consumer_tag));
  REQUIRE_MESSAGE(consumer != consumers_.end(), "a delivery behind the consumer's end");
  const MessageId id = MessageId::of(frame.body);
  common_.ledger.delivered(consumer->second.queue, id, deliver.redelivered);
  if (!deliver.redelivered) consumer->second.order.fresh(id);
  held_[deliver.delivery_tag] = {consumer->second.queue, id};
}

// Acknowledges some, or gives them back.
void LifeClient::give_back() {
  for (std::uint64_t count = rng_.between(1, 4); count > 0 && !held_.empty(); --count) {
    auto last = held_.begin();
    std::advance(last, static_cast<std::ptrdiff_t>(rng_.below(held_.size())));
    const bool multiple = rng_.chance(0.3);
    const bool ack = rng_.chance(0.8);
    const std::uint64_t tag = last->first;
    if (ack) {
      client_->send(2, amqp::BasicAck{.delivery_tag = tag, .multiple = multiple});
    } else {
      client_->send(2, amqp::BasicNack{.delivery_tag = tag, .multiple = multiple, .requeue = true});
    }
    for (auto at = multiple ? held_.begin() : last; at != held_.end() && at->first <= tag;) {
      if (ack) common_.ledger.acknowledged(at->second.queue, at->second.id);
      at = held_.erase(at);
    }
  }
}

// --- asking --------------------------------------------------------------------------------------

void LifeClient::ask() {
  if (steps_[3] != Step::kOpen || ask_ != Ask::kNone) return;
  const std::uint64_t dice = rng_.below(10);
  must_exist_ = false;
  if (dice < 3 || common_.declared.empty()) {
    ask_ = Ask::kDeclare;
    asked_name_ = queue_name(rng_.below(CommonKnowledge::kQueues));
    common_.asked.insert(asked_name_);
    return client_->send(
        3, amqp::QueueDeclare{.queue = asked_name_, .durable = true, .arguments = {}});
  }
  if (dice >= 8) return ask_for_passing();
  asked_name_ = random_declared();
  must_exist_ = node_knows_all();
  if (dice < 4) {
    ask_ = Ask::kLook;
    client_->send(3, amqp::QueueDeclare{.queue = asked_name_, .passive = true, .arguments = {}});
  } else if (dice < 6) {
    ask_for_binding();
  } else {
    ask_ = Ask::kGet;
    client_->send(3, amqp::BasicGet{.queue = asked_name_});
  }
}

void LifeClient::ask_for_binding() {
  const auto queue = static_cast<std::uint32_t>(std::stoul(asked_name_.substr(1)));
  std::uint32_t key = 0;
  do {
    key = static_cast<std::uint32_t>(rng_.below(CommonKnowledge::kKeys));
  } while (!CommonKnowledge::may_bind(queue, key));
  ask_ = Ask::kBind;
  asked_key_ = key_name(key);
  client_->send(3, amqp::QueueBind{.queue = asked_name_,
                                   .exchange = "amq.direct",
                                   .routing_key = asked_key_,
                                   .arguments = {}});
}

// For a queue that ends with its connection, or with its consumer.
void LifeClient::ask_for_passing() {
  const bool exclusive = rng_.chance(0.5);
  ask_ = exclusive ? Ask::kExclusive : Ask::kPassing;
  asked_name_ = (exclusive ? "x" : "a") + std::to_string(++common_.names);
  if (!exclusive) common_.passing_asked.insert(asked_name_);
  client_->send(3, amqp::QueueDeclare{.queue = asked_name_,
                                      .durable = exclusive && rng_.chance(0.5),
                                      .exclusive = exclusive,
                                      .auto_delete = !exclusive,
                                      .arguments = {}});
}

void LifeClient::answered(const ServerFrame& frame) {
  REQUIRE(frame.channel == 3);
  const Ask asked = std::exchange(ask_, Ask::kNone);
  switch (asked) {
    case Ask::kNone:
      FAIL("an answer to nothing");
      return;
    case Ask::kDeclare:
      REQUIRE(frame.is<amqp::QueueDeclareOk>());
      common_.declared.insert(asked_name_);
      return check_in_force();
    case Ask::kLook:
    case Ask::kExclusive:
      REQUIRE(frame.is<amqp::QueueDeclareOk>());
      return;
    case Ask::kBind:
      REQUIRE(frame.is<amqp::QueueBindOk>());
      common_.bound[asked_key_].insert(asked_name_);
      return check_in_force();
    case Ask::kGet:
      return got(frame);
    case Ask::kPassing:
      REQUIRE(frame.is<amqp::QueueDeclareOk>());
      ask_ = Ask::kUse;
      return client_->send(
          3,
          amqp::BasicConsume{.queue = asked_name_, .consumer_tag = asked_name_, .arguments = {}});
    case Ask::kUse:
      REQUIRE(frame.is<amqp::BasicConsumeOk>());
      common_.passing_used.insert(asked_name_);
      return;
  }
}

// On every node that may act on what it knows, at once.
void LifeClient::check_in_force() const {
  for (std::uint32_t number = 1; number <= cluster_.size(); ++number) {
    if (!cluster_.knows_all(number)) continue;
    CAPTURE(number);
    for (const std::string& queue : common_.declared) {
      CHECK_MESSAGE(cluster_.knows_queue(number, queue), queue << " was declared");
    }
    for (const auto& [key, queues] : common_.bound) {
      for (const std::string& queue : queues) {
        CHECK_MESSAGE(cluster_.knows_binding(number, queue, key), queue << " was bound to " << key);
      }
    }
  }
}

void LifeClient::got(const ServerFrame& frame) {
  if (frame.is<amqp::BasicGetEmpty>()) return;
  REQUIRE(frame.is<amqp::BasicGetOk>());
  const auto get_ok = frame.as<amqp::BasicGetOk>();
  const MessageId id = MessageId::of(frame.body);
  common_.ledger.delivered(asked_name_, id, get_ok.redelivered);
  if (rng_.chance(0.7)) {
    client_->send(3, amqp::BasicAck{.delivery_tag = get_ok.delivery_tag});
    common_.ledger.acknowledged(asked_name_, id);
  } else {
    client_->send(3, amqp::BasicReject{.delivery_tag = get_ok.delivery_tag, .requeue = true});
  }
}

}  // namespace ringtail::sim
