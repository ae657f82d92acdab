// Flow control, ends of connections and what is owed, one scenario each, over a few seeds.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "broker/runtime/memory_gauge.h"
#include "tests/sim/sim_broker.h"

namespace flow_test {

using namespace ringtail;
using namespace ringtail::sim;
using runtime::kMillisecondNs;
using runtime::kSecondNs;
using runtime::MemoryGauge;
using runtime::SimHost;
using runtime::SimWorld;

namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;

struct Scenario {
  explicit Scenario(std::uint64_t seed, std::uint16_t shards = 2, runtime::Config config = {})
      : world(seed), host(world), node(host, shards, std::move(config)) {}

  // Takes what has come for the client without waiting.
  std::size_t deliveries(AmqpClient& client) {
    client.poll();
    std::size_t count = 0;
    for (const ServerFrame& frame : client.inbox) {
      if (frame.is<amqp::BasicDeliver>()) ++count;
    }
    return count;
  }
  bool opened(AmqpClient& client) {
    client.connect();
    return client.await_open() && client.open_channel(1);
  }
  std::uint32_t ready(AmqpClient& client, std::string_view queue) {
    client.send(1, amqp::QueueDeclare{.queue = queue, .passive = true, .arguments = {}});
    ServerFrame frame;
    REQUIRE(client.await<amqp::QueueDeclareOk>(1, frame));
    return frame.as<amqp::QueueDeclareOk>().message_count;
  }

  SimWorld world;
  SimHost host;
  BrokerNode node;
};

}  // namespace

TEST_CASE("a connection opens, declares, publishes, gets, and closes") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    Scenario sim(seed, static_cast<std::uint16_t>(1 + seed % 4));
    AmqpClient client(sim.host);
    REQUIRE(sim.opened(client));
    REQUIRE(client.declare(1, "q"));
    const std::string body(seed * 20'000, 'b');
    client.publish(1, "", "q", body);
    client.send(1, amqp::BasicGet{.queue = "q", .no_ack = true});
    ServerFrame frame;
    REQUIRE(client.await<amqp::BasicGetOk>(1, frame));
    CHECK(frame.body == body);
    CHECK(frame.as<amqp::BasicGetOk>().routing_key == "q");
    client.send(1, amqp::QueueDelete{.queue = "q"});
    REQUIRE(client.await<amqp::QueueDeleteOk>(1));
    CHECK(client.close());
    CHECK(client.close_code() == 0);
    CHECK(sim.node.queues() == 0);
  }
}

TEST_CASE("confirms that are owed come before the channel.close of a mistake, not after it") {
  Scenario sim(1);
  AmqpClient client(sim.host);
  REQUIRE(sim.opened(client));
  client.send(1, amqp::ConfirmSelect{});
  REQUIRE(client.await<amqp::ConfirmSelectOk>(1));
  sim.world.network().options().tiny_read = 0;
  sim.world.network().options().part_read = 0;
  sim.world.network().options().short_write = 0;
  runtime::OutChain out;
  amqp::write_method(out, 1,
                     amqp::BasicPublish{.exchange = "", .routing_key = "nowhere", .route = {}});
  amqp::write_content(out, 1, {.properties = {}, .body = {}}, 4096);
  amqp::write_method(out, 1, amqp::BasicAck{.delivery_tag = 77});  // unknown: 406
  std::string bytes;
  while (!out.empty()) {
    runtime::OutChain::Piece piece;
    out.peek({&piece, 1});
    bytes += runtime::as_text({piece.data, piece.size});
    out.consume(piece.size);
  }
  client.send_raw(bytes);
  sim.world.run_for(kSecondNs);
  client.poll();
  bool closed = false;
  for (const ServerFrame& frame : client.inbox) {
    if (frame.is<amqp::ChannelClose>()) closed = true;
    if (frame.is<amqp::BasicAck>()) CHECK_FALSE(closed);
  }
  CHECK(closed);
  CHECK_FALSE(client.closed());
}

TEST_CASE("an exclusive queue whose owner goes while it is being declared does not stay") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    Scenario sim(seed, static_cast<std::uint16_t>(1 + seed % 4));
    AmqpClient client(sim.host);
    REQUIRE(sim.opened(client));
    client.send(1, amqp::QueueDeclare{.queue = "mine", .exclusive = true, .arguments = {}});
    const std::uint64_t how = seed % 4;
    if (how == 0) {
      client.send(0, amqp::ConnectionClose{.reply_code = 200, .reply_text = "bye"});
    } else if (how == 1) {
      client.send(0, amqp::ConnectionOpenOk{});  // a hard error
    } else {
      sim.world.run_for(sim.world.rng().between(0, 700 * runtime::kMicrosecondNs));
      if (how == 2) client.abort();
      if (how == 3) client.send(1, amqp::ChannelClose{.reply_code = 200, .reply_text = {}});
    }
    sim.world.run_for(kSecondNs);
    client.poll();
    if (how == 3) REQUIRE(client.close());
    sim.world.run_for(10 * kSecondNs);
    client.poll();
    CHECK(sim.node.queues() == 0);
    // Its name is free for others.
    AmqpClient other(sim.host);
    REQUIRE(sim.opened(other));
    CHECK(other.declare(1, "mine", true));
  }
}

TEST_CASE("what a connection held goes back in the original order, marked redelivered") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    Scenario sim(seed, static_cast<std::uint16_t>(1 + seed % 4));
    AmqpClient publisher(sim.host);
    AmqpClient consumer(sim.host);
    REQUIRE(sim.opened(publisher));
    REQUIRE(sim.opened(consumer));
    REQUIRE(publisher.declare(1, "q"));
    const std::uint64_t count = sim.world.rng().between(5, 200);
    for (std::uint64_t i = 0; i < count; ++i) publisher.publish(1, "", "q", std::to_string(i));
    const auto prefetch = static_cast<std::uint16_t>(sim.world.rng().between(1, count));
    consumer.send(1, amqp::BasicQos{.prefetch_count = prefetch, .global = seed % 2 == 0});
    consumer.send(1, amqp::BasicConsume{.queue = "q", .consumer_tag = "c", .arguments = {}});
    REQUIRE(sim.world.run_until([&] { return sim.deliveries(consumer) >= prefetch; }));
    std::set<std::string> acked;
    for (const ServerFrame& frame : consumer.inbox) {
      if (!frame.is<amqp::BasicDeliver>() || sim.world.rng().chance(0.6)) continue;
      consumer.send(1, amqp::BasicAck{.delivery_tag = frame.as<amqp::BasicDeliver>().delivery_tag});
      acked.insert(frame.body);
    }
    // All acks have arrived, and what they made room for; then the consumer dies.
    sim.world.run_for(kSecondNs);
    consumer.poll();
    std::set<std::string> held;
    for (const ServerFrame& frame : consumer.inbox) {
      if (frame.is<amqp::BasicDeliver>() && !acked.contains(frame.body)) held.insert(frame.body);
    }
    CHECK(held.size() <= prefetch);
    consumer.abort();
    sim.world.run_for(kSecondNs);
    std::uint64_t expected = 0;
    for (;;) {
      publisher.send(1, amqp::BasicGet{.queue = "q", .no_ack = true});
      ServerFrame frame;
      const bool answered = sim.world.run_until([&] {
        return publisher.take<amqp::BasicGetOk>(1, frame) ||
               publisher.take<amqp::BasicGetEmpty>(1, frame);
      });
      REQUIRE(answered);
      if (frame.is<amqp::BasicGetEmpty>()) break;
      while (acked.contains(std::to_string(expected))) ++expected;
      REQUIRE(frame.body == std::to_string(expected));
      REQUIRE(frame.as<amqp::BasicGetOk>().redelivered == held.contains(frame.body));
      ++expected;
    }
    while (acked.contains(std::to_string(expected))) ++expected;
    CHECK(expected == count);
  }
}

TEST_CASE("a consumer that stops reading costs bounded memory and holds nobody up") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    INFO("seed " << seed);
    const std::int64_t before = MemoryGauge::total();
    {
      Scenario sim(seed);
      AmqpClient publisher(sim.host);
      AmqpClient slow(sim.host);
      AmqpClient quick(sim.host);
      REQUIRE(sim.opened(publisher));
      REQUIRE(sim.opened(slow));
      REQUIRE(sim.opened(quick));
      REQUIRE(publisher.declare(1, "big"));
      slow.send(1, amqp::BasicConsume{
                       .queue = "big", .consumer_tag = "s", .no_ack = true, .arguments = {}});
      REQUIRE(slow.await<amqp::BasicConsumeOk>(1));
      slow.pause_reading();
      const std::string body(64 * 1024, 'x');
      constexpr std::size_t kMessages = 160;  // ten times a consumer's window
      for (std::size_t i = 0; i < kMessages; ++i) publisher.publish(1, "", "big", body);
      REQUIRE(sim.world.run_until([&] { return publisher.unsent() == 0; }));
      sim.world.run_for(kSecondNs);
      // Most of it waits in the queue, not in the output of the connection.
      const std::uint32_t waiting = sim.ready(publisher, "big");
      CHECK(waiting >= kMessages - (2 * kMiB + 512 * 1024) / body.size());
      // Another consumer of the same queue takes the rest.
      quick.send(1, amqp::BasicConsume{
                        .queue = "big", .consumer_tag = "f", .no_ack = true, .arguments = {}});
      REQUIRE(sim.world.run_until([&] { return sim.deliveries(quick) == waiting; }));
      // Reading on, it gets what was meant for it, and the rest of its life.
      slow.resume_reading();
      REQUIRE(sim.world.run_until([&] { return sim.deliveries(slow) + waiting == kMessages; }));
      REQUIRE(publisher.close());
      REQUIRE(quick.close());
      REQUIRE(slow.close());
    }
    CHECK(MemoryGauge::total() == before);
  }
}

TEST_CASE("the memory alarm blocks publishers until consumers have made room") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    INFO("seed " << seed);
    runtime::Config config;
    config.memory_high_watermark = 4 * kMiB;
    Scenario sim(seed, 2, config);
    AmqpClient publisher(sim.host);
    AmqpClient consumer(sim.host);
    REQUIRE(sim.opened(publisher));
    REQUIRE(sim.opened(consumer));
    REQUIRE(publisher.declare(1, "q"));
    const std::string body(32 * 1024, 'x');
    std::size_t published = 0;
    // The client's own output is counted too (it is the same process): never much of it at once.
    const auto publish_until = [&](const auto& condition) {
      return sim.world.run_until([&] {
        publisher.poll();
        if (publisher.unsent() == 0) {
          publisher.publish(1, "", "q", body);
          ++published;
        }
        return condition();
      });
    };
    REQUIRE(publish_until([&] { return publisher.blocked(); }));
    const std::size_t at_alarm = published;
    const std::int64_t memory_at_alarm = MemoryGauge::total();
    // What was on its way still comes in; then the publisher is not read any more.
    REQUIRE_FALSE(publish_until([&] { return published > at_alarm + 64; }));
    CHECK(publisher.blocked());
    CHECK(publisher.unsent() > 0);
    CHECK(MemoryGauge::total() < memory_at_alarm + static_cast<std::int64_t>(2 * kMiB));
    // A consumer is served under the alarm, and its end unblocks the publisher.
    consumer.send(1, amqp::BasicQos{.prefetch_count = 5});
    consumer.send(1, amqp::BasicConsume{.queue = "q", .consumer_tag = "c", .arguments = {}});
    std::size_t taken = 0;
    const auto consume = [&] {
      ServerFrame frame;
      while (consumer.take<amqp::BasicDeliver>(1, frame)) {
        ++taken;
        consumer.send(1,
                      amqp::BasicAck{.delivery_tag = frame.as<amqp::BasicDeliver>().delivery_tag});
      }
      publisher.poll();
    };
    REQUIRE(sim.world.run_until([&] {
      consume();
      return !publisher.blocked();
    }));
    REQUIRE(sim.world.run_until([&] {
      consume();
      return publisher.unsent() == 0 && taken == published;
    }));
    CHECK(publisher.times_blocked() >= 1);
    REQUIRE(publisher.close());
    REQUIRE(consumer.close());
  }
}

TEST_CASE("a node that stops says so to every client") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    INFO("seed " << seed);
    Scenario sim(seed, 3);
    AmqpClient one(sim.host);
    AmqpClient two(sim.host);
    REQUIRE(sim.opened(one));
    REQUIRE(sim.opened(two));
    REQUIRE(one.declare(1, "mine", true));
    sim.node.shut_down();
    REQUIRE(sim.world.run_until([&] {
      one.poll();
      two.poll();
      return sim.node.shut_down_done();
    }));
    CHECK(one.close_code() == 320);
    CHECK(two.close_code() == 320);
    // The exclusive queues of its clients go too, behind the farewell.
    CHECK(sim.world.run_until([&] { return sim.node.queues() == 0; }));
  }
}

}  // namespace flow_test
