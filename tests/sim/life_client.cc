#include "tests/sim/life_client.h"

#include <doctest/doctest.h>

namespace ringtail::sim {

using runtime::kSecondNs;

namespace {

constexpr std::uint16_t kHeartbeatS = 6;
constexpr std::uint64_t kSayNs = 2 * kSecondNs;
// Two heartbeats, as the node has it.
constexpr std::uint64_t kSilenceNs = 12 * kSecondNs;

}  // namespace

LifeClient::LifeClient(BrokerCluster& cluster, CommonKnowledge& common, std::uint32_t number)
    : cluster_(cluster), common_(common), number_(number), rng_(cluster.world.rng().next()) {}

bool LifeClient::node_knows_all() const { return cluster_.knows_all(node_); }

void LifeClient::connect() {
  node_ = static_cast<std::uint32_t>(rng_.between(1, cluster_.size()));
  client_ = std::make_unique<AmqpClient>(cluster_.client_host(number_));
  client_->set_heartbeat_s(kHeartbeatS);
  client_->connect("/", BrokerCluster::address_of(node_));
  last_sent_ns_ = last_heard_ns_ = cluster_.world.now_ns();
  heard_ = 0;
}

void LifeClient::forget() {
  client_.reset();
  closing_ = false;
  for (std::uint16_t channel = 1; channel <= 3; ++channel) forget_channel(channel);
}

void LifeClient::forget_channel(std::uint16_t channel) {
  steps_[channel] = Step::kNone;
  if (channel == 1) {
    unconfirmed_.clear();
  } else if (channel == 2) {
    consumers_.clear();
    consuming_.clear();
    held_.clear();
  } else {
    ask_ = Ask::kNone;
  }
}

void LifeClient::look() {
  if (client_ == nullptr) return;
  client_->poll();
  while (!client_->inbox.empty()) {
    const ServerFrame frame = std::move(client_->inbox.front());
    client_->inbox.pop_front();
    handle(frame);
  }
  check_close_code();
  if (client_->closed()) return forget();
  const std::uint64_t now = cluster_.world.now_ns();
  if (client_->received() != heard_) {
    heard_ = client_->received();
    last_heard_ns_ = now;
  }
  if (now - last_heard_ns_ > kSilenceNs) return die();
  if (client_->opened() && now - last_sent_ns_ > kSayNs) {
    client_->heartbeat();
    last_sent_ns_ = now;
  }
}

// An orderly stop, and a change that no majority has agreed to.
void LifeClient::check_close_code() const {
  const std::uint16_t code = client_->close_code();
  REQUIRE_MESSAGE((code == 0 || code == 320 || code == 541), client_->close_text());
}

void LifeClient::act() {
  if (client_ == nullptr) return connect();
  if (!client_->opened() || closing_) return;
  for (std::uint16_t channel = 1; channel <= 3; ++channel) {
    if (steps_[channel] != Step::kNone) continue;
    steps_[channel] = Step::kOpening;
    client_->send(channel, amqp::ChannelOpen{});
  }
  const std::uint64_t dice = rng_.below(1000);
  if (dice < 4) return die();
  if (dice < 8) return close();
  if (dice < 400) return publish();
  if (dice < 650) return give_back();
  if (dice < 750) return consume();
  if (dice < 780) return cancel();
  return ask();
}

bool LifeClient::quiet() const { return waits_for().empty(); }

std::string LifeClient::waits_for() const {
  if (client_ == nullptr) return {};
  if (closing_) return "connection.close-ok";
  if (!client_->opened()) return "connection.open-ok";
  if (!unconfirmed_.empty()) return "confirms";
  if (!consuming_.empty()) return "consume-ok of " + consuming_.begin()->second;
  for (const auto& [tag, consumer] : consumers_) {
    if (consumer.cancelling) return "cancel-ok of " + consumer.queue;
  }
  if (ask_ != Ask::kNone) {
    return "answer " + std::to_string(static_cast<int>(ask_)) + " for " + asked_name_;
  }
  for (std::uint16_t channel = 1; channel <= 3; ++channel) {
    const Step step = steps_[channel];
    if (step != Step::kNone && step != Step::kOpen) return "channel.open-ok";
  }
  return {};
}

void LifeClient::close() {
  if (client_ == nullptr || closing_) return;
  if (!client_->opened()) return die();
  closing_ = true;
  client_->send(0, amqp::ConnectionClose{.reply_code = 200, .reply_text = "bye"});
}

void LifeClient::die() {
  if (client_ == nullptr) return;
  client_->abort();
  forget();
}

void LifeClient::handle(const ServerFrame& frame) {
  if (frame.is<amqp::ChannelClose>()) return channel_closed(frame);
  const std::uint16_t channel = frame.channel;
  REQUIRE(channel >= 1);
  REQUIRE(channel <= 3);
  if (frame.is<amqp::ChannelOpenOk>() || frame.is<amqp::ConfirmSelectOk>() ||
      frame.is<amqp::BasicQosOk>()) {
    return opened(channel);
  }
  REQUIRE(steps_[channel] == Step::kOpen);
  if (frame.is<amqp::BasicAck>()) {
    const auto ack = frame.as<amqp::BasicAck>();
    settle(ack.delivery_tag, ack.multiple, true);
  } else if (frame.is<amqp::BasicNack>()) {
    const auto nack = frame.as<amqp::BasicNack>();
    settle(nack.delivery_tag, nack.multiple, false);
  } else if (frame.is<amqp::BasicDeliver>()) {
    got_delivery(frame);
  } else if (frame.is<amqp::BasicConsumeOk>() && channel == 2) {
    const auto found = consuming_.find(std::string(frame.as<amqp::BasicConsumeOk>().consumer_tag));
    REQUIRE(found != consuming_.end());
    consumers_[found->first].queue = found->second;
    consuming_.erase(found);
  } else if (frame.is<amqp::BasicCancelOk>()) {
    consumers_.erase(std::string(frame.as<amqp::BasicCancelOk>().consumer_tag));
  } else if (frame.is<amqp::BasicCancel>()) {
    // The node of the queue is gone. A cancel of ours that it crosses is answered all the same.
    const auto found = consumers_.find(std::string(frame.as<amqp::BasicCancel>().consumer_tag));
    if (found != consumers_.end() && !found->second.cancelling) consumers_.erase(found);
  } else {
    answered(frame);
  }
}

void LifeClient::opened(std::uint16_t channel) {
  if (steps_[channel] == Step::kOpening && channel == 1) {
    steps_[channel] = Step::kSettingUp;
    publisher_ = common_.ledger.new_publisher();
    last_number_ = 0;
    client_->send(channel, amqp::ConfirmSelect{});
  } else if (steps_[channel] == Step::kOpening && channel == 2) {
    steps_[channel] = Step::kSettingUp;
    client_->send(
        channel, amqp::BasicQos{.prefetch_count = static_cast<std::uint16_t>(rng_.between(1, 20))});
  } else {
    steps_[channel] = Step::kOpen;
  }
}

void LifeClient::channel_closed(const ServerFrame& frame) {
  const auto close = frame.as<amqp::ChannelClose>();
  const std::string text(close.reply_text);
  CHECK_MESSAGE(close.reply_code == 404, text);
  if (frame.channel == 3 && must_exist_) {
    const bool home_down = text.find("home node") != std::string::npos;
    CHECK_MESSAGE(home_down, "declared, and not there: " << text);
  }
  forget_channel(frame.channel);
}

}  // namespace ringtail::sim
