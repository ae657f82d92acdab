// Deliveries that stay unacknowledged for too long, and what a channel tells of a delivery limit.
#include <doctest/doctest.h>

#include <string>

#include "broker/amqp/content_header.h"
#include "cluster/metadata/commands.h"
#include "tests/sim/sim_broker.h"

namespace ack_timeout_test {

using namespace ringtail;
using namespace ringtail::sim;
using cluster::metadata::QueueOptions;
using runtime::kMillisecondNs;
using runtime::kSecondNs;
using runtime::SimHost;
using runtime::SimWorld;

namespace {

constexpr char kTimedOut[] =
    "PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out. Timeout value used: "
    "1000 ms. This timeout value can be configured, see consumers doc guide to learn more";

struct Scenario {
  explicit Scenario(std::uint64_t configured_ms)
      : world(7), host(world), node(host, 2, config(configured_ms)), client(host) {
    client.connect();
    REQUIRE(client.await_open());
    REQUIRE(client.open_channel(1));
    REQUIRE(client.open_channel(2));
  }
  static runtime::Config config(std::uint64_t timeout_ms) {
    runtime::Config config;
    config.consumer_timeout_ms = timeout_ms;
    return config;
  }
  void declare(const std::string& name, const QueueOptions& options = {}) {
    cluster::metadata::DeclareQueue command;
    command.record.vhost = "/";
    command.record.name = name;
    command.record.options = options;
    bool done = false;
    node.run_on_shard(0, [&] {
      node.shard(0).propose(command, [&](const cluster::metadata::CommandResult&) { done = true; });
    });
    REQUIRE(world.run_until([&] { return done; }));
  }
  void consume(const std::string& queue, std::uint16_t channel = 1) {
    client.send(channel,
                amqp::BasicConsume{.queue = queue, .consumer_tag = queue, .arguments = {}});
    REQUIRE(client.await<amqp::BasicConsumeOk>(channel));
  }
  // Whether channel 1 is closed, and with RabbitMQ's text, while that time passes.
  bool times_out_within(std::uint64_t ms) {
    ServerFrame frame;
    if (!world.run_until([&] { return client.take<amqp::ChannelClose>(1, frame); },
                         ms * kMillisecondNs)) {
      return false;
    }
    const auto close = frame.as<amqp::ChannelClose>();
    CHECK(close.reply_code == 406);
    CHECK(close.reply_text == kTimedOut);
    CHECK(close.class_id == 0);
    CHECK(close.method_id == 0);
    return true;
  }

  SimWorld world;
  SimHost host;
  BrokerNode node;
  AmqpClient client;
};

}  // namespace

TEST_CASE("a delivery that is not acknowledged in time ends its channel") {
  Scenario sim(1000);
  sim.declare("q");
  sim.client.publish(2, "", "q", "body");
  SUBCASE("consumed") {
    sim.consume("q");
    REQUIRE(sim.client.await<amqp::BasicDeliver>(1));
  }
  SUBCASE("got") {
    REQUIRE(sim.world.run_until_idle());
    sim.client.send(1, amqp::BasicGet{.queue = "q"});
    REQUIRE(sim.client.await<amqp::BasicGetOk>(1));
  }
  CHECK(!sim.times_out_within(950));
  CHECK(sim.times_out_within(250));
  // The message is there for others.
  ServerFrame frame;
  sim.consume("q", 2);
  REQUIRE(sim.client.await<amqp::BasicDeliver>(2, frame));
  CHECK(frame.as<amqp::BasicDeliver>().redelivered);
}

TEST_CASE("acknowledging in time goes on for ever") {
  Scenario sim(1000);
  sim.declare("q");
  sim.consume("q");
  for (int i = 0; i < 10; ++i) {
    sim.client.publish(2, "", "q", "body");
    ServerFrame frame;
    REQUIRE(sim.client.await<amqp::BasicDeliver>(1, frame));
    CHECK(!sim.times_out_within(700));
    sim.client.send(1, amqp::BasicAck{.delivery_tag = frame.as<amqp::BasicDeliver>().delivery_tag});
  }
  CHECK(!sim.times_out_within(5000));
}

TEST_CASE("a queue's own timeout comes before the configured one") {
  Scenario sim(3'600'000);
  QueueOptions options;
  options.consumer_timeout_ms = 1000;
  sim.declare("patient");
  sim.declare("short", options);
  sim.client.publish(2, "", "patient", "body");
  sim.consume("patient");
  CHECK(!sim.times_out_within(5000));
  sim.client.publish(2, "", "short", "body");
  sim.consume("short");
  CHECK(!sim.times_out_within(900));
  CHECK(sim.times_out_within(300));
}

TEST_CASE("without a timeout a delivery may stay for ever") {
  Scenario sim(0);
  sim.declare("q");
  sim.client.publish(2, "", "q", "body");
  sim.consume("q");
  CHECK(!sim.times_out_within(100'000'000));
}

TEST_CASE("where returns are limited, a delivery tells how many there were") {
  Scenario sim(0);
  QueueOptions options;
  options.delivery_limit = 2;
  sim.declare("q", options);
  sim.client.publish(2, "", "q", "body");
  sim.consume("q");
  for (std::int64_t count = 0; count <= 2; ++count) {
    ServerFrame frame;
    REQUIRE(sim.client.await<amqp::BasicDeliver>(1, frame));
    CHECK(frame.body == "body");
    const auto properties = amqp::BasicProperties::decode(runtime::as_bytes(frame.properties));
    REQUIRE(properties);
    REQUIRE(properties->headers.has_value() == (count > 0));
    if (count > 0) {
      const auto* value = properties->headers->find("x-delivery-count");
      REQUIRE(value != nullptr);
      CHECK(*value == amqp::FieldValue(count));
    }
    sim.client.send(1, amqp::BasicNack{.delivery_tag = frame.as<amqp::BasicDeliver>().delivery_tag,
                                       .requeue = true});
  }
  REQUIRE(sim.world.run_until_idle());
  sim.client.send(2, amqp::BasicGet{.queue = "q"});
  REQUIRE(sim.client.await<amqp::BasicGetEmpty>(2));
}

}  // namespace ack_timeout_test
