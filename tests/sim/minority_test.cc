// Clients of a node that has no majority: nobody waits for what needs one, or for queues of nodes
// that are not reached, and when the others are there again all goes on.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "tests/sim/broker_cluster.h"

namespace minority_test {

using namespace ringtail;
using namespace ringtail::sim;
using runtime::kSecondNs;

namespace {

// Two nodes and a client with each; "q1" lives on the first, "q2" on the second.
struct Pair {
  explicit Pair(std::uint64_t seed)
      : cluster(seed, 2, 2, false), first(cluster.client_host(1)), second(cluster.client_host(2)) {
    cluster.start_all();
    REQUIRE(cluster.world.run_until([&] { return cluster.is_one(); }, 60 * kSecondNs));
    connect(first, 1);
    connect(second, 2);
    declare(first, "q1");
    declare(second, "q2");
  }
  void connect(AmqpClient& client, std::uint32_t node) {
    client.connect("/", BrokerCluster::address_of(node));
    REQUIRE(client.await_open());
    for (std::uint16_t channel = 1; channel <= 3; ++channel) REQUIRE(client.open_channel(channel));
  }
  void declare(AmqpClient& client, const std::string& name) {
    client.send(3, amqp::QueueDeclare{.queue = name, .durable = true, .arguments = {}});
    REQUIRE(client.await<amqp::QueueDeclareOk>(3));
  }
  void cut() { cluster.world.network().paths().isolate(cluster.host(2)); }
  void heal() { cluster.world.network().paths().heal_all(); }
  std::uint64_t seconds_since(std::uint64_t start_ns) const {
    return (cluster.world.now_ns() - start_ns) / kSecondNs;
  }

  BrokerCluster cluster;
  AmqpClient first;
  AmqpClient second;
};

void check_inaccessible(AmqpClient& client, std::uint16_t channel) {
  ServerFrame frame;
  REQUIRE(client.await<amqp::ChannelClose>(channel, frame));
  const auto close = frame.as<amqp::ChannelClose>();
  CHECK(close.reply_code == 404);
  CHECK(close.reply_text ==
        "NOT_FOUND - home node 'n2@10.0.0.2' of durable queue 'q2' in vhost "
        "'/' is down or inaccessible");
}

// The connection ends since no majority agrees, within the time that the documentation names.
void check_no_majority(Pair& pair, AmqpClient& client) {
  const std::uint64_t start = pair.cluster.world.now_ns();
  REQUIRE(pair.cluster.world.run_until([&] {
    client.poll();
    return client.close_code() != 0;
  }));
  CHECK(client.close_code() == 541);
  CHECK(pair.seconds_since(start) < 6);
}

}  // namespace

TEST_CASE("in a minority nobody waits for the queue of a node that is not reached") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    Pair pair(seed);
    AmqpClient& client = pair.first;
    client.send(1, amqp::ConfirmSelect{});
    REQUIRE(client.await<amqp::ConfirmSelectOk>(1));
    client.send(2, amqp::BasicConsume{.queue = "q2", .consumer_tag = "c", .arguments = {}});
    REQUIRE(client.await<amqp::BasicConsumeOk>(2));
    for (int i = 0; i < 2; ++i) client.publish(1, "", "q2", "m" + std::to_string(i));
    REQUIRE(client.await<amqp::BasicDeliver>(2));
    REQUIRE(client.await<amqp::BasicDeliver>(2));
    client.send(2, amqp::BasicAck{.delivery_tag = 1});
    pair.cluster.world.run_for(kSecondNs);
    client.poll();
    client.inbox.clear();

    pair.cut();
    const std::uint64_t start = pair.cluster.world.now_ns();
    client.publish(1, "", "q2", "m2");
    client.send(3, amqp::BasicGet{.queue = "q2"});
    check_inaccessible(client, 3);
    ServerFrame frame;
    REQUIRE(client.await<amqp::BasicNack>(1, frame));
    CHECK(frame.as<amqp::BasicNack>().delivery_tag == 3);
    REQUIRE(client.await<amqp::BasicCancel>(2, frame));
    CHECK(frame.as<amqp::BasicCancel>().consumer_tag == "c");
    CHECK(pair.seconds_since(start) < 8);
    // From now on at once.
    const std::uint64_t later = pair.cluster.world.now_ns();
    client.publish(1, "", "q2", "m3");
    REQUIRE(client.await<amqp::BasicNack>(1));
    REQUIRE(client.open_channel(3));
    client.send(3, amqp::QueueDeclare{.queue = "q2", .passive = true, .arguments = {}});
    check_inaccessible(client, 3);
    CHECK(pair.seconds_since(later) == 0);

    pair.heal();
    REQUIRE(pair.cluster.world.run_until([&] { return pair.cluster.is_one(); }, 60 * kSecondNs));
    pair.cluster.world.run_for(5 * kSecondNs);
    client.publish(1, "", "q2", "m4");
    REQUIRE(client.await<amqp::BasicAck>(1, frame));
    CHECK(frame.as<amqp::BasicAck>().delivery_tag == 5);
    REQUIRE(client.open_channel(3));
    client.send(3, amqp::QueueDeclare{.queue = "q2", .passive = true, .arguments = {}});
    REQUIRE(client.await<amqp::QueueDeclareOk>(3, frame));
    // What was not acknowledged is back; what was refused may have come after all.
    const auto messages = frame.as<amqp::QueueDeclareOk>().message_count;
    CHECK((messages == 2 || messages == 3));
    CHECK(frame.as<amqp::QueueDeclareOk>().consumer_count == 0);
    client.send(2, amqp::BasicConsume{.queue = "q2", .consumer_tag = "d", .arguments = {}});
    REQUIRE(client.await<amqp::BasicConsumeOk>(2));
    REQUIRE(client.await<amqp::BasicDeliver>(2, frame));
    CHECK(frame.body == "m1");
    CHECK(frame.as<amqp::BasicDeliver>().redelivered);
    REQUIRE(client.await<amqp::BasicDeliver>(2, frame));
    CHECK(frame.body == (messages == 3 ? "m2" : "m4"));
  }
}

TEST_CASE("in a minority the deletion of a queue is refused in time, and happens later") {
  Pair pair(7);
  pair.cut();
  pair.cluster.world.run_for(5 * kSecondNs);
  AmqpClient& client = pair.first;
  client.send(3, amqp::QueueDelete{.queue = "q1"});
  check_no_majority(pair, client);
  // A connection with an exclusive queue ends all the same.
  AmqpClient again(pair.cluster.client_host(1));
  pair.connect(again, 1);
  again.send(3, amqp::QueueDelete{.queue = "q1"});
  check_no_majority(pair, again);
  CHECK(pair.cluster.knows_queue(1, "q1"));
  pair.heal();
  CHECK(pair.cluster.world.run_until([&] { return !pair.cluster.knows_queue(1, "q1"); },
                                     60 * kSecondNs));
  REQUIRE(pair.cluster.world.run_until([&] { return pair.cluster.is_one(); }, 60 * kSecondNs));
}

TEST_CASE("in a minority a connection with an exclusive queue closes in time") {
  Pair pair(9);
  AmqpClient& client = pair.first;
  client.send(3, amqp::QueueDeclare{.queue = "x", .exclusive = true, .arguments = {}});
  REQUIRE(client.await<amqp::QueueDeclareOk>(3));
  client.send(2, amqp::BasicConsume{.queue = "q2", .consumer_tag = "c", .arguments = {}});
  REQUIRE(client.await<amqp::BasicConsumeOk>(2));
  pair.cut();
  const std::uint64_t start = pair.cluster.world.now_ns();
  CHECK(client.close());
  CHECK(pair.seconds_since(start) < 8);
  pair.heal();
  CHECK(pair.cluster.world.run_until([&] { return !pair.cluster.knows_queue(2, "x"); },
                                     60 * kSecondNs));
}

}  // namespace minority_test
