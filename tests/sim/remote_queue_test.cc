// Queues that live on another node: everything works as if they were here, and when that node goes
// nobody waits for it, nothing is acknowledged that nobody has, and nothing of it is left behind.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "broker/amqp/content_header.h"
#include "broker/dead_letters.h"
#include "tests/sim/sim_peers.h"

namespace remote_queue_test {

using namespace ringtail;
using namespace ringtail::sim;
using cluster::metadata::QueueRecord;
using runtime::kMillisecondNs;
using runtime::SimHost;
using runtime::SimWorld;

namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;
using RecordPtr = std::shared_ptr<const QueueRecord>;

// Two nodes; clients are with the first, queues of the tests on the second.
struct Two {
  explicit Two(std::uint64_t seed = 1, std::uint16_t shards = 2)
      : world(seed),
        peers(world),
        host(world),
        far_host(world),
        node(host, shards, {}, runtime::NodeId{11}),
        far(far_host, shards, {}, runtime::NodeId{22}) {
    peers.link({&node, &far});
  }

  void open(AmqpClient& client) {
    client.connect();
    REQUIRE(client.await_open());
    REQUIRE(client.open_channel(1));
  }
  RecordPtr declare(const std::string& name, bool durable = true, bool auto_delete = false) {
    return peers.declare(name, far, durable, auto_delete);
  }
  std::uint64_t ready(const RecordPtr& record) {
    const auto* process = peers.process(*record);
    return process == nullptr ? 0 : process->stats().messages_ready;
  }
  queue::QueueStats stats(const RecordPtr& record) { return peers.process(*record)->stats(); }
  // Lets everything come to rest.
  void settle() { REQUIRE(world.run_until_idle()); }
  // The links end; both sides hear of it.
  void cut() {
    peers.cut();
    settle();
  }

  SimWorld world;
  SimPeers peers;
  SimHost host;
  SimHost far_host;
  BrokerNode node;
  BrokerNode far;
};

// The channel was closed with 404 and the text of a home node that is down.
void check_home_down(AmqpClient& client, const std::string& queue) {
  ServerFrame frame;
  REQUIRE(client.await<amqp::ChannelClose>(1, frame));
  const auto close = frame.as<amqp::ChannelClose>();
  CHECK(close.reply_code == 404);
  CHECK(close.reply_text == "NOT_FOUND - home node 'sim22@localhost' of durable queue '" + queue +
                                "' in vhost '/' is down or inaccessible");
}

std::size_t count_acks(AmqpClient& client, std::set<std::uint64_t>& acked,
                       std::set<std::uint64_t>& nacked, std::uint64_t& next) {
  client.poll();
  for (const ServerFrame& frame : client.inbox) {
    if (frame.is<amqp::BasicAck>()) {
      const auto ack = frame.as<amqp::BasicAck>();
      if (!ack.multiple) {
        acked.insert(ack.delivery_tag);
      } else {
        for (std::uint64_t tag = 1; tag <= ack.delivery_tag; ++tag) {
          if (!nacked.contains(tag)) acked.insert(tag);
        }
      }
    } else if (frame.is<amqp::BasicNack>()) {
      nacked.insert(frame.as<amqp::BasicNack>().delivery_tag);
    }
  }
  std::erase_if(client.inbox, [](const ServerFrame& frame) {
    return frame.is<amqp::BasicAck>() || frame.is<amqp::BasicNack>();
  });
  while (acked.contains(next) || nacked.contains(next)) ++next;
  return acked.size() + nacked.size();
}

// What a channel in confirm mode heard of its publishes.
struct Confirmed {
  explicit Confirmed(AmqpClient& heard) : client(heard) {
    client.send(1, amqp::ConfirmSelect{});
    REQUIRE(client.await<amqp::ConfirmSelectOk>(1));
  }
  std::size_t count() { return count_acks(client, acked, nacked, next); }

  AmqpClient& client;
  std::set<std::uint64_t> acked;
  std::set<std::uint64_t> nacked;
  std::uint64_t next = 1;  // neither yet
};

// Asks and cuts the links before the answer can come.
template <typename Method>
void ask_and_cut(Two& sim, AmqpClient& client, const Method& method) {
  const std::uint64_t before = sim.peers.letters();
  sim.peers.set_delay_ns(50 * kMillisecondNs);
  client.send(1, method);
  // The request arrives, the answer does not.
  REQUIRE(sim.world.run_until([&] { return sim.peers.letters() > before; }));
  sim.peers.cut();
}

}  // namespace

TEST_CASE("a queue on another node is declared, filled, read, purged and deleted from here") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    INFO("seed " << seed);
    Two sim(seed, static_cast<std::uint16_t>(1 + seed % 3));
    const RecordPtr record = sim.declare("q");
    AmqpClient client(sim.host);
    sim.open(client);
    Confirmed confirmed(client);
    const std::string large(300'000, 'L');
    client.publish(1, "", "q", "small");
    client.publish(1, "", "q", large);
    client.publish(1, "", "q", "last");
    REQUIRE(sim.world.run_until([&] { return confirmed.count() == 3; }));
    CHECK(confirmed.acked.size() == 3);
    CHECK(sim.ready(record) == 3);

    client.send(1, amqp::QueueDeclare{.queue = "q", .durable = true, .arguments = {}});
    ServerFrame frame;
    REQUIRE(client.await<amqp::QueueDeclareOk>(1, frame));
    CHECK(frame.as<amqp::QueueDeclareOk>().message_count == 3);

    client.send(1, amqp::BasicGet{.queue = "q"});
    REQUIRE(client.await<amqp::BasicGetOk>(1, frame));
    CHECK(frame.body == "small");
    CHECK(frame.as<amqp::BasicGetOk>().message_count == 2);
    client.send(1, amqp::BasicReject{.delivery_tag = 1, .requeue = true});

    client.send(1, amqp::BasicConsume{.queue = "q", .consumer_tag = "c", .arguments = {}});
    REQUIRE(client.await<amqp::BasicConsumeOk>(1));
    std::string bodies;
    for (int i = 0; i < 3; ++i) {
      REQUIRE(client.await<amqp::BasicDeliver>(1, frame));
      CHECK(frame.as<amqp::BasicDeliver>().redelivered == (i == 0));
      CHECK((i == 1) == (frame.body == large));
    }
    CHECK(sim.stats(record).messages_unacknowledged == 3);
    client.send(1, amqp::BasicAck{.delivery_tag = 4, .multiple = true});
    sim.settle();
    CHECK(sim.stats(record).messages_unacknowledged == 0);
    client.send(1, amqp::BasicCancel{.consumer_tag = "c"});
    REQUIRE(client.await<amqp::BasicCancelOk>(1));

    client.publish(1, "", "q", "x");
    client.send(1, amqp::QueuePurge{.queue = "q"});
    REQUIRE(client.await<amqp::QueuePurgeOk>(1, frame));
    CHECK(frame.as<amqp::QueuePurgeOk>().message_count == 1);
    client.send(1, amqp::QueueDelete{.queue = "q"});
    REQUIRE(client.await<amqp::QueueDeleteOk>(1));
    CHECK(sim.peers.process(*record) == nullptr);
    CHECK(client.close());
  }
}

TEST_CASE("more than a window of messages goes to another node and comes back") {
  Two sim;
  const RecordPtr record = sim.declare("q");
  AmqpClient publisher(sim.host);
  AmqpClient consumer(sim.host);
  sim.open(publisher);
  sim.open(consumer);
  const std::string body(64 * 1024, 'b');
  constexpr std::size_t kCount = 700;  // 44 MiB
  for (std::size_t i = 0; i < kCount; ++i) publisher.publish(1, "", "q", body);
  sim.settle();
  CHECK(publisher.unsent() == 0);
  CHECK(sim.ready(record) == kCount);
  consumer.send(
      1, amqp::BasicConsume{.queue = "q", .consumer_tag = "", .no_ack = true, .arguments = {}});
  std::size_t delivered = 0;
  REQUIRE(sim.world.run_until([&] {
    consumer.poll();
    std::erase_if(consumer.inbox, [&](const ServerFrame& frame) {
      delivered += frame.is<amqp::BasicDeliver>() ? 1 : 0;
      return true;
    });
    return delivered == kCount;
  }));
}

TEST_CASE("direct replies go from node to node") {
  Two sim;
  const RecordPtr record = sim.declare("requests");
  AmqpClient asker(sim.host);
  AmqpClient server(sim.far_host);
  sim.open(asker);
  sim.open(server);
  asker.send(
      1,
      amqp::BasicConsume{
          .queue = "amq.rabbitmq.reply-to", .consumer_tag = "", .no_ack = true, .arguments = {}});
  REQUIRE(asker.await<amqp::BasicConsumeOk>(1));
  amqp::BasicProperties properties;
  properties.reply_to = "amq.rabbitmq.reply-to";
  asker.publish(1, "", "requests", "question", false, properties.encode());
  server.send(1, amqp::BasicConsume{
                     .queue = "requests", .consumer_tag = "", .no_ack = true, .arguments = {}});
  ServerFrame frame;
  REQUIRE(server.await<amqp::BasicDeliver>(1, frame));
  const auto got = amqp::BasicProperties::decode(runtime::as_bytes(frame.properties));
  REQUIRE((got && got->reply_to));
  const std::string name(*got->reply_to);

  server.send(1, amqp::QueueDeclare{.queue = name, .passive = true, .arguments = {}});
  REQUIRE(server.await<amqp::QueueDeclareOk>(1));
  server.publish(1, "", name, "answer", true);
  REQUIRE(asker.await<amqp::BasicDeliver>(1, frame));
  CHECK(frame.body == "answer");

  SUBCASE("a name that leads to a shard which is not there is nobody's") {
    std::string other = name;
    const std::size_t shard = std::string("amq.rabbitmq.reply-to.00000000.").size();
    other.replace(shard, 4, "00ff");
    server.send(1, amqp::QueueDeclare{.queue = other, .passive = true, .arguments = {}});
    REQUIRE(server.await<amqp::ChannelClose>(1, frame));
    CHECK(frame.as<amqp::ChannelClose>().reply_code == 404);
  }
  SUBCASE("nor one that leads to a node which is not there") {
    std::string other = name;
    other.replace(std::string("amq.rabbitmq.reply-to.").size(), 8, "deadbeef");
    server.publish(1, "", other, "answer", true);
    REQUIRE(server.await<amqp::BasicReturn>(1));
    server.send(1, amqp::QueueDeclare{.queue = other, .passive = true, .arguments = {}});
    REQUIRE(server.await<amqp::ChannelClose>(1));
  }
  SUBCASE("whoever asks for the asker hears no when its node goes meanwhile") {
    ask_and_cut(sim, server, amqp::QueueDeclare{.queue = name, .passive = true, .arguments = {}});
    REQUIRE(server.await<amqp::ChannelClose>(1, frame));
    CHECK(frame.as<amqp::ChannelClose>().reply_code == 404);
  }
}

// --- the node of the queue goes -----------------------------------------------------------------

TEST_CASE("publishes that the queue's node has not confirmed are nacked when it goes") {
  Two sim;
  sim.declare("q");
  sim.peers.declare("here", sim.node);
  AmqpClient client(sim.host);
  sim.open(client);
  Confirmed confirmed(client);
  sim.peers.set_delay_ns(100 * kMillisecondNs);
  for (int i = 0; i < 5; ++i) client.publish(1, "", "q", "in flight");
  sim.world.run_for(20 * kMillisecondNs);
  CHECK(confirmed.count() == 0);
  sim.cut();
  CHECK(confirmed.count() == 5);
  CHECK(confirmed.nacked.size() == 5);

  // While it is away; what goes elsewhere is confirmed, and the channel lives.
  client.publish(1, "", "q", "away");
  client.publish(1, "", "here", "here");
  client.publish(1, "", "q", "away");
  REQUIRE(sim.world.run_until([&] { return confirmed.count() == 8; }));
  CHECK(confirmed.acked == std::set<std::uint64_t>{7});

  sim.peers.join();
  sim.settle();
  client.publish(1, "", "q", "back");
  REQUIRE(sim.world.run_until([&] { return confirmed.count() == 9; }));
  CHECK(confirmed.acked.contains(9));
}

TEST_CASE("a publisher without confirms that waits for a window is read again") {
  Two sim;
  sim.declare("q");
  AmqpClient client(sim.host);
  sim.open(client);
  sim.peers.set_delay_ns(3600 * runtime::kSecondNs);
  const std::string body(64 * 1024, 'b');
  for (std::size_t i = 0; i < 1000; ++i) client.publish(1, "", "q", body);
  sim.world.run_for(5 * runtime::kSecondNs);
  CHECK(client.unsent() > 0);
  sim.peers.cut();
  REQUIRE(sim.world.run_until([&] { return client.unsent() == 0; }));
  REQUIRE(client.open_channel(2));
}

void publish_to_congested(bool published_before, bool node_goes) {
  CAPTURE(published_before);
  CAPTURE(node_goes);
  Two sim;
  AmqpClient client(sim.host);
  sim.open(client);
  const auto record = sim.declare("q");
  const auto congest = [&sim](bool congested) {
    for (std::size_t at = 0; at < 2; ++at) {
      sim.node.run_on_shard(at,
                            [&] { sim.node.shard(at).peer_congested(sim.far.id(), congested); });
    }
    sim.settle();
  };
  if (published_before) client.publish(1, "", "q", std::string(1000, 'x'));
  sim.settle();
  congest(true);
  const std::string body(100'000, 'x');
  for (int i = 0; i < 400; ++i) client.publish(1, "", "q", body);
  sim.settle();
  CHECK(sim.ready(record) < 50);  // what one read brought, and no more
  CHECK(client.unsent() > 0);
  if (node_goes) {
    sim.cut();
  } else {
    congest(false);
  }
  CHECK(sim.world.run_until([&] { return client.unsent() == 0; }));
  if (!node_goes) {
    const std::uint64_t all = published_before ? 401 : 400;
    CHECK(sim.world.run_until([&] { return sim.ready(record) == all; }));
  }
}

TEST_CASE("who publishes to a node that is congested is not read until it no longer is") {
  for (const bool published_before : {false, true}) {
    for (const bool node_goes : {false, true}) publish_to_congested(published_before, node_goes);
  }
}

TEST_CASE("consumers are cancelled, late acks are taken, and the queue has everything back") {
  Two sim;
  const RecordPtr record = sim.declare("q");
  const RecordPtr other = sim.peers.declare("here", sim.node);
  AmqpClient client(sim.host);
  sim.open(client);
  client.send(1, amqp::BasicQos{.prefetch_count = 2, .global = true});
  REQUIRE(client.await<amqp::BasicQosOk>(1));
  for (int i = 0; i < 4; ++i) client.publish(1, "", "q", std::to_string(i));
  client.publish(1, "", "here", "mine");
  client.publish(1, "", "here", "mine too");
  client.send(1, amqp::BasicConsume{.queue = "q", .consumer_tag = "far", .arguments = {}});
  ServerFrame frame;
  REQUIRE(client.await<amqp::BasicDeliver>(1, frame));
  REQUIRE(client.await<amqp::BasicDeliver>(1, frame));
  client.send(1, amqp::BasicConsume{.queue = "here", .consumer_tag = "near", .arguments = {}});
  REQUIRE(client.await<amqp::BasicConsumeOk>(1));
  sim.settle();
  CHECK(sim.ready(other) == 2);  // the prefetch is used up
  CHECK(sim.stats(record).messages_unacknowledged == 2);

  sim.cut();
  REQUIRE(client.await<amqp::BasicCancel>(1, frame));
  CHECK(frame.as<amqp::BasicCancel>().consumer_tag == "far");
  CHECK(sim.stats(record).consumers == 0);
  CHECK(sim.stats(record).messages_unacknowledged == 0);
  CHECK(sim.ready(record) == 4);
  // What the far queue's deliveries held of the prefetch is free.
  REQUIRE(client.await<amqp::BasicDeliver>(1, frame));
  CHECK(frame.body == "mine");
  REQUIRE(client.await<amqp::BasicDeliver>(1, frame));

  client.send(1, amqp::BasicAck{.delivery_tag = 1});
  client.send(1, amqp::BasicNack{.delivery_tag = 4, .multiple = true, .requeue = false});
  sim.settle();
  CHECK(sim.stats(other).messages_unacknowledged == 0);
  CHECK(!client.take<amqp::ChannelClose>(1, frame));

  sim.peers.join();
  sim.settle();
  client.send(1, amqp::BasicConsume{.queue = "q", .consumer_tag = "far", .arguments = {}});
  REQUIRE(client.await<amqp::BasicDeliver>(1, frame));
  CHECK(frame.as<amqp::BasicDeliver>().redelivered);
  // An ack of a delivery from before touches none from after.
  CHECK(sim.stats(record).messages_unacknowledged == 2);
}

TEST_CASE("a client that cannot hear of the end of its consumer loses the channel") {
  Two sim;
  const RecordPtr record = sim.declare("q");
  AmqpClient client(sim.host);
  client.set_hears_cancel(false);
  sim.open(client);
  client.send(1, amqp::BasicConsume{.queue = "q", .consumer_tag = "", .arguments = {}});
  REQUIRE(client.await<amqp::BasicConsumeOk>(1));
  sim.peers.cut();
  check_home_down(client, "q");
  sim.settle();
  CHECK(sim.stats(record).consumers == 0);
  CHECK(client.open_channel(1));
}

TEST_CASE("what was asked is answered when the queue's node goes, and at once while it is away") {
  for (const bool before : {true, false}) {
    CAPTURE(before);
    const auto refused = [&](const auto& method) {
      Two sim;
      sim.declare("q");
      AmqpClient client(sim.host);
      sim.open(client);
      const std::uint64_t start = sim.world.now_ns();
      if (before) {
        ask_and_cut(sim, client, method);
      } else {
        sim.cut();
        client.send(1, method);
      }
      check_home_down(client, "q");
      CHECK(sim.world.now_ns() - start < 500 * kMillisecondNs);
      CHECK(client.open_channel(1));
      CHECK(client.close());
    };
    refused(amqp::QueueDeclare{.queue = "q", .passive = true, .arguments = {}});
    refused(amqp::QueueDeclare{.queue = "q", .durable = true, .arguments = {}});
    refused(amqp::BasicGet{.queue = "q"});
    refused(amqp::BasicConsume{.queue = "q", .consumer_tag = "", .arguments = {}});
    refused(amqp::BasicConsume{.queue = "q", .consumer_tag = "", .nowait = true, .arguments = {}});
    refused(amqp::QueuePurge{.queue = "q"});
    refused(amqp::QueueDelete{.queue = "q"});
  }
}

TEST_CASE("a queue that is not durable is none while its node is away") {
  Two sim;
  sim.declare("t", false);
  AmqpClient client(sim.host);
  sim.open(client);
  sim.cut();
  client.send(1, amqp::BasicGet{.queue = "t"});
  ServerFrame frame;
  REQUIRE(client.await<amqp::ChannelClose>(1, frame));
  CHECK(frame.as<amqp::ChannelClose>().reply_text == "NOT_FOUND - no queue 't' in vhost '/'");
}

TEST_CASE("a cancel under way is done when the queue's node goes") {
  Two sim;
  sim.declare("q");
  AmqpClient client(sim.host);
  sim.open(client);
  client.send(1, amqp::BasicConsume{.queue = "q", .consumer_tag = "c", .arguments = {}});
  REQUIRE(client.await<amqp::BasicConsumeOk>(1));
  ask_and_cut(sim, client, amqp::BasicCancel{.consumer_tag = "c"});
  REQUIRE(client.await<amqp::BasicCancelOk>(1));
  CHECK(client.declare(1, "mine", true));
}

TEST_CASE("a transaction whose publish has nobody fails") {
  Two sim;
  sim.declare("q");
  AmqpClient client(sim.host);
  sim.open(client);
  client.send(1, amqp::TxSelect{});
  REQUIRE(client.await<amqp::TxSelectOk>(1));
  client.publish(1, "", "q", "one");
  SUBCASE("under way when the node goes") { ask_and_cut(sim, client, amqp::TxCommit{}); }
  SUBCASE("while it is away") {
    sim.cut();
    client.send(1, amqp::TxCommit{});
  }
  ServerFrame frame;
  REQUIRE(client.await<amqp::ChannelClose>(1, frame));
  CHECK(frame.as<amqp::ChannelClose>().reply_text == "PRECONDITION_FAILED - partial tx completion");
}

TEST_CASE("channels and connections close though a queue's node does not answer any more") {
  Two sim;
  sim.declare("q");
  AmqpClient client(sim.host);
  sim.open(client);
  client.publish(1, "", "q", "one");
  client.send(1, amqp::BasicConsume{.queue = "q", .consumer_tag = "", .arguments = {}});
  REQUIRE(client.await<amqp::BasicDeliver>(1));
  SUBCASE("the channel") {
    ask_and_cut(sim, client, amqp::ChannelClose{.reply_code = 200, .reply_text = ""});
    REQUIRE(client.await<amqp::ChannelCloseOk>(1));
    CHECK(client.close());
  }
  SUBCASE("the connection") {
    const std::uint64_t before = sim.peers.letters();
    sim.peers.set_delay_ns(50 * kMillisecondNs);
    client.send(0, amqp::ConnectionClose{.reply_code = 200, .reply_text = ""});
    REQUIRE(sim.world.run_until([&] { return sim.peers.letters() > before; }));
    sim.peers.cut();
    REQUIRE(sim.world.run_until([&] {
      client.poll();
      return client.close_ok() && client.closed();
    }));
  }
}

TEST_CASE(
    "a request over HTTP is answered when the queue's node goes, and at once while it is away") {
  Two sim;
  const RecordPtr record = sim.declare("q");
  using What = broker::QueueQuestion::What;
  for (const What what : {What::kPurge, What::kDelete, What::kTry, What::kInspect}) {
    int answers = 0;
    int down = 0;
    const auto ask = [&] {
      sim.node.run_on_shard(0, [&] {
        sim.node.shard(0).queue_calls().ask(*record, {.what = what},
                                            [&](const broker::QueueAnswer& answer) {
                                              ++answers;
                                              if (answer.node_down) ++down;
                                            });
      });
    };
    sim.peers.set_delay_ns(50 * kMillisecondNs);
    ask();
    sim.world.run_for(20 * kMillisecondNs);
    CHECK(answers == 0);
    sim.cut();
    CHECK(answers == 1);
    ask();
    CHECK(answers == 2);
    CHECK(down == 2);
    sim.peers.join();
    sim.settle();
    if (what == What::kDelete) continue;
    ask();
    sim.settle();
    CHECK(answers == 3);
    CHECK(down == 2);
  }
}

TEST_CASE("dead letters for another node are not counted as under way when it has gone") {
  Two sim;
  sim.declare("far");
  cluster::metadata::DeclareQueue command;
  command.record.vhost = "/";
  command.record.name = "source";
  command.record.home = sim.node.id();
  command.record.options.dead_letter_exchange = "";
  command.record.options.dead_letter_routing_key = "far";
  const RecordPtr source = sim.peers.apply(command).queue;
  AmqpClient client(sim.host);
  sim.open(client);
  const auto reject_one = [&] {
    client.publish(1, "", "source", "dead");
    client.send(1, amqp::BasicGet{.queue = "source"});
    ServerFrame frame;
    REQUIRE(client.await<amqp::BasicGetOk>(1, frame));
    client.send(1, amqp::BasicReject{.delivery_tag = frame.as<amqp::BasicGetOk>().delivery_tag,
                                     .requeue = false});
    sim.world.run_for(20 * kMillisecondNs);
  };
  const broker::DeadLetters& dead_letters = sim.node.shard(source->shard.value).dead_letters();
  sim.peers.set_delay_ns(100 * kMillisecondNs);
  reject_one();
  CHECK(dead_letters.unsettled() == 1);
  sim.cut();
  CHECK(dead_letters.unsettled() == 0);
  reject_one();
  CHECK(dead_letters.unsettled() == 0);
  sim.peers.join();
  sim.settle();
  reject_one();
  CHECK(dead_letters.unsettled() == 1);
  sim.settle();
  CHECK(dead_letters.unsettled() == 0);
}

// --- the node of the channel goes ---------------------------------------------------------------

TEST_CASE("a queue forgets the channels of a node that goes, and ends if it lived for them") {
  Two sim;
  const RecordPtr kept = sim.declare("kept");
  const RecordPtr passing = sim.declare("passing", false, true);
  AmqpClient client(sim.host);
  sim.open(client);
  for (const char* queue : {"kept", "passing"}) {
    client.send(1, amqp::BasicConsume{.queue = queue, .consumer_tag = "", .arguments = {}});
    REQUIRE(client.await<amqp::BasicConsumeOk>(1));
    client.publish(1, "", queue, "one");
    REQUIRE(client.await<amqp::BasicDeliver>(1));
  }
  sim.cut();
  CHECK(sim.stats(kept).consumers == 0);
  CHECK(sim.ready(kept) == 1);
  CHECK(sim.peers.process(*passing) == nullptr);
  // A consumer that was there for all the time goes on.
  AmqpClient near(sim.far_host);
  sim.open(near);
  near.send(1, amqp::BasicConsume{.queue = "kept", .consumer_tag = "", .arguments = {}});
  REQUIRE(near.await<amqp::BasicDeliver>(1));
}

TEST_CASE("letters that were here when their node went leave nothing behind") {
  Two sim;
  const RecordPtr record = sim.declare("q");
  AmqpClient client(sim.host);
  sim.open(client);
  const std::uint64_t before = sim.peers.letters();
  client.send(1, amqp::BasicConsume{.queue = "q", .consumer_tag = "", .arguments = {}});
  REQUIRE(sim.world.run_until([&] { return sim.peers.letters() > before; }));
  // It lies in the shard's line, and is handled after this.
  CHECK(sim.stats(record).consumers == 0);
  sim.cut();
  CHECK(sim.stats(record).consumers == 0);
}

// --- all of it, by chance -----------------------------------------------------------------------

namespace {

// Consumes from q and acknowledges, and begins anew whenever it was stopped.
struct Stubborn {
  explicit Stubborn(Two& in) : client(in.host) { in.open(client); }
  void take() {
    client.poll();
    for (const ServerFrame& frame : client.inbox) {
      if (frame.is<amqp::BasicDeliver>()) {
        delivered.insert(frame.body);
        client.send(1, amqp::BasicAck{.delivery_tag = frame.as<amqp::BasicDeliver>().delivery_tag});
      }
      if (frame.is<amqp::BasicConsumeOk>()) consuming = true;
      if (frame.is<amqp::BasicCancel>()) consuming = false;
      if (frame.is<amqp::ChannelClose>()) {
        consuming = false;
        client.send(1, amqp::ChannelOpen{});
      }
    }
    client.inbox.clear();
  }

  AmqpClient client;
  std::set<std::string> delivered;
  bool consuming = false;
};

// Cuts, joins, consumes, publishes: returns how many were published.
std::uint64_t play(Two& sim, AmqpClient& publisher, Stubborn& consumer) {
  amqp::BasicProperties persistent;
  persistent.delivery_mode = 2;
  const std::string properties = persistent.encode();
  runtime::SimRng& rng = sim.world.rng();
  std::uint64_t published = 0;
  for (int step = 0; step < 60; ++step) {
    const std::uint64_t what = rng.between(0, 9);
    if (what == 0 && sim.peers.joined()) {
      sim.peers.cut();
    } else if (what <= 2 && !sim.peers.joined()) {
      sim.peers.join();
    } else if (what <= 4 && !consumer.consuming) {
      consumer.client.send(1,
                           amqp::BasicConsume{.queue = "q", .consumer_tag = "", .arguments = {}});
      sim.world.run_for(5 * kMillisecondNs);
    } else {
      const std::uint64_t count = rng.between(1, 30);
      for (std::uint64_t i = 0; i < count; ++i) {
        publisher.publish(1, "", "q", std::to_string(++published), false,
                          rng.chance(0.5) ? properties : "");
      }
    }
    sim.world.run_for(rng.between(0, 2 * kMillisecondNs));
    consumer.take();
  }
  if (!sim.peers.joined()) sim.peers.join();
  sim.settle();
  consumer.take();
  sim.settle();
  return published;
}

}  // namespace

TEST_CASE("whatever is cut when: a confirmed message is delivered, and everybody is answered") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    Two sim(seed, static_cast<std::uint16_t>(1 + seed % 2));
    const RecordPtr record = sim.declare("q");
    AmqpClient publisher(sim.host);
    sim.open(publisher);
    Confirmed confirmed(publisher);
    Stubborn consumer(sim);
    const std::uint64_t published = play(sim, publisher, consumer);
    REQUIRE(confirmed.count() == published);
    // What is left comes out at the end.
    consumer.client.abort();
    AmqpClient last(sim.far_host);
    sim.open(last);
    last.send(
        1, amqp::BasicConsume{.queue = "q", .consumer_tag = "", .no_ack = true, .arguments = {}});
    sim.settle();
    last.poll();
    std::set<std::string> delivered = consumer.delivered;
    for (const ServerFrame& frame : last.inbox) delivered.insert(frame.body);
    for (const std::uint64_t number : confirmed.acked) {
      REQUIRE(delivered.contains(std::to_string(number)));
    }
    CHECK(sim.stats(record).messages_unacknowledged == 0);
    CHECK(sim.ready(record) == 0);
  }
}

}  // namespace remote_queue_test
