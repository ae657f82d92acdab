// A channel and the masters of a mirrored queue: whatever happens to a master, what was published
// comes to the next one in order, what was asked is answered once, and no consumer falls silent.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "broker/channel.h"
#include "broker/connection.h"
#include "tests/sim/puppet_masters.h"

namespace mirrored_channel_test {

using namespace ringtail;
using namespace ringtail::sim;
using queue::ChannelGone;

namespace {

constexpr bool kHears = true;

std::string with_cancel(bool cancel) {
  return amqp::FieldTable().set("x-cancel-on-ha-failover", cancel).encode();
}

// What a channel in confirm mode has heard since the last look: "+1 +2 -3", where +2* means all up
// to 2.
std::string confirms(AmqpClient& client) {
  client.poll();
  std::string text;
  std::erase_if(client.inbox, [&](const ServerFrame& frame) {
    if (frame.is<amqp::BasicAck>()) {
      const auto ack = frame.as<amqp::BasicAck>();
      text += "+" + std::to_string(ack.delivery_tag) + (ack.multiple ? "* " : " ");
      return true;
    }
    if (!frame.is<amqp::BasicNack>()) return false;
    text += "-" + std::to_string(frame.as<amqp::BasicNack>().delivery_tag) + " ";
    return true;
  });
  return text;
}

void select_confirms(AmqpClient& client) {
  client.send(1, amqp::ConfirmSelect{});
  REQUIRE(client.await<amqp::ConfirmSelectOk>(1));
}

template <typename Method>
bool has(AmqpClient& client) {
  client.poll();
  for (const ServerFrame& frame : client.inbox) {
    if (frame.is<Method>()) return true;
  }
  return false;
}

void check_closed(PuppetMasters& sim, AmqpClient& client, const std::string& text) {
  sim.settle();
  ServerFrame frame;
  REQUIRE(client.await<amqp::ChannelClose>(1, frame));
  CHECK(frame.as<amqp::ChannelClose>().reply_code == 404);
  CHECK(frame.as<amqp::ChannelClose>().reply_text == text);
}

const std::string kHomeDown =
    "NOT_FOUND - home node 'n33@127.0.0.1' of durable queue 'q' in vhost '/' is down or "
    "inaccessible";

}  // namespace

// --- publishing ---------------------------------------------------------------------------------

TEST_CASE("what is not settled goes to the next master, in order and before anything new") {
  for (const bool links_first : {false, true}) {
    CAPTURE(links_first);
    PuppetMasters sim;
    sim.declare();
    AmqpClient client(sim.host);
    sim.open(client);
    select_confirms(client);
    sim.publish(client, {"a", "b", "c"});
    CHECK(sim.take_publish(kOne, 1) == "1:a b c");
    sim.publish(client, {"d", "e"});
    CHECK(sim.take_publish(kOne, 1) == "4:d e");
    sim.say_settled(kOne, 2);
    CHECK(confirms(client) == "+2* ");

    sim.kill(kOne, links_first);
    CHECK(sim.take_publish(kTwo, 2) == "3:c d e");
    CHECK(sim.silent());
    sim.publish(client, {"f"});
    CHECK(sim.take_publish(kTwo, 2) == "6:f");
    CHECK(confirms(client).empty());
    sim.say_settled(kTwo, 6);
    CHECK(confirms(client) == "+6* ");

    // A node that comes back is nobody to this channel.
    sim.begin_life(kOne);
    CHECK(sim.silent());
    CHECK(client.close());
  }
}

TEST_CASE("between two masters publishes gather, and a request waits") {
  PuppetMasters sim;
  sim.declare();
  AmqpClient client(sim.host);
  sim.open(client);
  select_confirms(client);
  sim.publish(client, {"a"});
  CHECK(sim.take_publish(kOne, 1) == "1:a");
  sim.end_links(kOne);
  sim.publish(client, {"b", "c"});
  client.send(1, amqp::BasicGet{.queue = "q"});
  sim.settle();
  CHECK(sim.silent());
  CHECK(confirms(client).empty());
  sim.declare_down(kOne);
  CHECK(sim.take_publish(kTwo, 2) == "1:a b c");
  const auto get = sim.take<queue::Get>(kTwo, queue::kGet);
  CHECK(get->epoch == 2);
  CHECK(sim.silent());
  sim.say_settled(kTwo, 3);
  sim.say_answer<queue::GetResult>(kTwo, *get);
  CHECK(confirms(client) == "+3* ");
  CHECK(client.await<amqp::BasicGetEmpty>(1));
}

TEST_CASE("who publishes between two masters is read as far as the window goes") {
  PuppetMasters sim;
  sim.declare();
  AmqpClient client(sim.host);
  sim.open(client);
  sim.publish(client, {"a"});
  sim.take_publish(kOne, 1);
  sim.end_links(kOne);
  const std::string body(64 * 1024, 'b');
  for (int i = 0; i < 1000; ++i) client.publish(1, "", "q", body);
  sim.settle();
  CHECK(client.unsent() > 0);
  CHECK(sim.silent());
  sim.declare_down(kOne);
  std::uint64_t last = 0;
  while (client.unsent() > 0 || !sim.silent()) {
    const auto publish = sim.take<queue::Publish>(kTwo, queue::kPublish);
    CHECK(publish->first_number == last + 1);
    last += publish->messages.size();
    sim.say_settled(kTwo, last);
  }
  CHECK(last == 1001);
}

TEST_CASE("the former master may still say what it has committed or refused") {
  PuppetMasters sim;
  sim.declare();
  AmqpClient client(sim.host);
  sim.open(client);
  select_confirms(client);
  sim.publish(client, {"a", "b", "c", "d"});
  CHECK(sim.take_publish(kOne, 1) == "1:a b c d");
  sim.lead(kOne);
  sim.transfer(kTwo);
  CHECK(sim.take_publish(kTwo, 2) == "1:a b c d");
  sim.say_settled(kOne, 2, {2});
  CHECK(confirms(client) == "-2 +1 ");
  // Of numbers that are settled: what is refused behind them is not missed.
  sim.say_settled(kTwo, 1, {1});
  CHECK(confirms(client).empty());
  sim.say_settled(kTwo, 4, {1, 2, 4});
  CHECK(confirms(client) == "-4 +3 ");
}

TEST_CASE("a master that goes again: only what is still unsettled is sent") {
  PuppetMasters sim;
  sim.declare();
  AmqpClient client(sim.host);
  sim.open(client);
  sim.publish(client, {"a", "b"});
  sim.take_publish(kOne, 1);
  sim.kill(kOne);
  CHECK(sim.take_publish(kTwo, 2) == "1:a b");
  sim.say_settled(kTwo, 1);
  sim.lead(kTwo);
  sim.begin_life(kOne);
  // It joins again and is in sync some time.
  sim.admit_last();
  CHECK(sim.silent());
  sim.kill(kTwo);
  CHECK(sim.take_publish(kOne, 3) == "2:b");
}

TEST_CASE("a transaction is committed when the next master has settled it") {
  PuppetMasters sim;
  sim.declare();
  AmqpClient client(sim.host);
  sim.open(client);
  client.send(1, amqp::TxSelect{});
  REQUIRE(client.await<amqp::TxSelectOk>(1));
  sim.publish(client, {"a", "b"});
  client.send(1, amqp::TxCommit{});
  sim.settle();
  CHECK(sim.take_publish(kOne, 1) == "1:a b");
  sim.kill(kOne);
  CHECK(sim.take_publish(kTwo, 2) == "1:a b");
  CHECK(!has<amqp::TxCommitOk>(client));
  sim.say_settled(kTwo, 2);
  CHECK(client.await<amqp::TxCommitOk>(1));
}

TEST_CASE("what was published before the queue had mirrors is refused if its master goes") {
  PuppetMasters sim;
  sim.declare(false, true, false);
  AmqpClient client(sim.host);
  sim.open(client);
  select_confirms(client);
  sim.publish(client, {"a", "b"});
  CHECK(sim.take_publish(kOne, 0) == "1:a b");
  sim.set_mirrors();
  CHECK(sim.silent());
  sim.publish(client, {"c"});
  CHECK(sim.take_publish(kOne, 1) == "3:c");
  sim.say_settled(kOne, 1);
  CHECK(confirms(client) == "+1 ");
  sim.kill(kOne);
  CHECK(sim.take_publish(kTwo, 2) == "3:c");
  CHECK(confirms(client) == "-2 ");
  sim.say_settled(kTwo, 3);
  CHECK(confirms(client) == "+3 ");
}

// --- no master ----------------------------------------------------------------------------------

TEST_CASE("when the queue is vacant the line ends, and works again when it has a master") {
  for (const bool links_first : {false, true}) {
    CAPTURE(links_first);
    PuppetMasters sim;
    sim.declare();
    AmqpClient client(sim.host);
    sim.open(client);
    select_confirms(client);
    sim.consume(client, "c");
    sim.publish(client, {"a", "b"});
    CHECK(sim.take_publish(kOne, 1) == "1:a b");
    sim.say_settled(kOne, 1);
    sim.kill(kOne);
    CHECK(sim.take_publish(kTwo, 2) == "2:b");
    sim.say_consume_ok(kTwo, *sim.take<queue::Consume>(kTwo, queue::kConsume));
    CHECK(confirms(client) == "+1 ");
    sim.kill(kTwo, links_first);
    REQUIRE(sim.record()->view->vacant());
    CHECK(confirms(client) == "-2 ");
    CHECK(client.await<amqp::BasicCancel>(1));
    sim.publish(client, {"away"});
    CHECK(confirms(client) == "-3 ");
    CHECK(sim.silent());

    // Numbers go on: the next master may know the channel.
    sim.begin_life(kTwo);
    REQUIRE(!sim.record()->view->vacant());
    sim.publish(client, {"c"});
    CHECK(sim.take_publish(kTwo, 3) == "3:c");
    sim.say_settled(kTwo, 3);
    CHECK(confirms(client) == "+4 ");

    sim.kill(kTwo, links_first);
    client.send(1, amqp::BasicGet{.queue = "q"});
    check_closed(sim, client, kHomeDown);
  }
}

TEST_CASE("what is asked of a queue that becomes vacant is refused") {
  for (const bool links_first : {false, true}) {
    CAPTURE(links_first);
    PuppetMasters sim;
    sim.declare();
    AmqpClient client(sim.host);
    sim.open(client);
    sim.kill(kOne);
    client.send(1, amqp::QueuePurge{.queue = "q"});
    sim.settle();
    sim.take<queue::Purge>(kTwo, queue::kPurge);
    sim.kill(kTwo, links_first);
    check_closed(sim, client, kHomeDown);
  }
}

TEST_CASE("in a minority nobody waits for a master that is not reached") {
  PuppetMasters sim;
  sim.declare();
  AmqpClient client(sim.host);
  sim.open(client);
  select_confirms(client);
  sim.consume(client, "c");
  sim.publish(client, {"a", "b"});
  sim.take_publish(kOne, 1);
  sim.reach(kOne, false);
  CHECK(confirms(client) == "-1 -2 ");
  CHECK(client.await<amqp::BasicCancel>(1));
  auto gone = sim.take<ChannelGone>(kOne, queue::kChannelGone);
  CHECK(gone->epoch == 1);

  SUBCASE("the same master is reached again") {
    sim.reach(kOne, true);
    sim.publish(client, {"c"});
    CHECK(confirms(client) == "-3 ");  // it has not heard yet that the line has ended
    sim.say_answer<queue::ChannelForgotten>(kOne, *gone);
    sim.publish(client, {"d"});
    CHECK(sim.take_publish(kOne, 1) == "3:d");
  }
  SUBCASE("there is another master") {
    sim.declare_down(kOne);
    CHECK(sim.silent());
    sim.publish(client, {"c"});
    CHECK(sim.take_publish(kTwo, 2) == "3:c");
    sim.end_links(kOne);
    sim.say_settled(kTwo, 3);
    CHECK(confirms(client) == "+3 ");
  }
}

TEST_CASE("a queue that goes with its master's node is gone for whoever waits") {
  for (const bool links_first : {false, true}) {
    CAPTURE(links_first);
    PuppetMasters sim;
    sim.declare();
    AmqpClient client(sim.host);
    AmqpClient consumer(sim.host);
    sim.open(client);
    sim.open(consumer);
    sim.consume(consumer, "c");
    client.send(1, amqp::QueueDelete{.queue = "q"});
    sim.settle();
    sim.take<queue::Delete>(kOne, queue::kDelete);
    if (links_first) sim.end_links(kOne);
    sim.apply(cluster::metadata::DeleteQueue{"/", "q", sim.record()->qid});
    sim.settle();
    if (!links_first) sim.end_links(kOne);
    CHECK(client.await<amqp::QueueDeleteOk>(1));
    CHECK(consumer.await<amqp::BasicCancel>(1));
  }
}

// --- consuming ----------------------------------------------------------------------------------

TEST_CASE("a consumer is subscribed again, and what the former master sends it is dropped") {
  PuppetMasters sim;
  sim.declare();
  AmqpClient client(sim.host);
  sim.open(client);
  client.send(1, amqp::BasicQos{.prefetch_count = 7});
  REQUIRE(client.await<amqp::BasicQosOk>(1));
  const std::string arguments = amqp::FieldTable().set("x-priority", std::int64_t{5}).encode();
  const auto first = sim.consume(client, "c", arguments, true);
  CHECK(first->epoch == 1);
  sim.lead(kOne);
  sim.transfer(kTwo);
  const auto again = sim.take<queue::Consume>(kTwo, queue::kConsume);
  CHECK(again->epoch == 2);
  CHECK(again->consumer != first->consumer);
  CHECK(again->tag == "c");
  CHECK(again->exclusive);
  CHECK(!again->no_ack);
  CHECK(again->prefetch == 7);
  CHECK(again->priority == 5);
  sim.say_delivery(kOne, first->consumer, 11, "late");
  sim.say_consume_ok(kTwo, *again);
  sim.say_delivery(kTwo, again->consumer, 22, "m", true);
  ServerFrame frame;
  REQUIRE(client.await<amqp::BasicDeliver>(1, frame));
  CHECK(frame.body == "m");
  CHECK(frame.as<amqp::BasicDeliver>().consumer_tag == "c");
  CHECK(frame.as<amqp::BasicDeliver>().delivery_tag == 1);
  CHECK(frame.as<amqp::BasicDeliver>().redelivered);
  CHECK(!has<amqp::BasicCancel>(client));
  CHECK(!has<amqp::BasicConsumeOk>(client));
  client.send(1, amqp::BasicAck{.delivery_tag = 1});
  sim.settle();
  const auto ack = sim.take<queue::Ack>(kTwo, queue::kAck);
  CHECK(ack->epoch == 2);
  CHECK(ack->tokens == std::vector<queue::DeliveryToken>{22});
  CHECK(sim.silent());
}

void check_cancel(bool by_argument, bool hears, const std::string& arguments, bool cancelled) {
  CAPTURE(by_argument);
  CAPTURE(hears);
  CAPTURE(arguments);
  for (const bool links_first : {false, true}) {
    PuppetMasters sim;
    sim.declare(by_argument);
    AmqpClient client(sim.host);
    client.set_hears_cancel(hears);
    sim.open(client);
    sim.consume(client, "c", arguments);
    sim.kill(kOne, links_first);
    CHECK(has<amqp::BasicCancel>(client) == cancelled);
    if (cancelled) {
      CHECK(sim.silent());
      // The tag is free.
      sim.consume(client, "c", arguments);
    } else {
      sim.say_consume_ok(kTwo, *sim.take<queue::Consume>(kTwo, queue::kConsume));
      sim.settle();
      CHECK(sim.silent());
    }
    CHECK(!has<amqp::ChannelClose>(client));
  }
}

TEST_CASE("who is cancelled at a failover, and who is subscribed again") {
  check_cancel(false, kHears, "", false);
  check_cancel(false, kHears, with_cancel(false), false);
  check_cancel(false, kHears, with_cancel(true), true);
  check_cancel(true, kHears, "", true);
  check_cancel(true, kHears, with_cancel(false), true);
  // A client that could not hear it is never left without its consumer.
  check_cancel(false, !kHears, with_cancel(true), false);
  check_cancel(true, !kHears, "", false);
}

TEST_CASE("a consumer that the next master refuses is cancelled, or its channel is closed") {
  for (const auto answer : {queue::Answer::kExclusiveUse, queue::Answer::kNotFound}) {
    for (const bool hears : {true, false}) {
      CAPTURE(hears);
      PuppetMasters sim;
      sim.declare();
      AmqpClient client(sim.host);
      client.set_hears_cancel(hears);
      sim.open(client);
      sim.consume(client, "c");
      sim.kill(kOne);
      sim.say_consume_ok(kTwo, *sim.take<queue::Consume>(kTwo, queue::kConsume), answer);
      if (hears) {
        CHECK(client.await<amqp::BasicCancel>(1));
        CHECK(!has<amqp::ChannelClose>(client));
      } else {
        check_closed(sim, client, "NOT_FOUND - no queue 'q' in vhost '/'");
      }
    }
  }
}

TEST_CASE("deliveries of a former epoch can be acknowledged, and count no more") {
  PuppetMasters sim;
  sim.declare();
  AmqpClient client(sim.host);
  sim.open(client);
  client.send(1, amqp::BasicQos{.prefetch_count = 2, .global = true});
  REQUIRE(client.await<amqp::BasicQosOk>(1));
  const auto first = sim.consume(client, "c");
  CHECK(first->channel_limit == 2);
  sim.say_delivery(kOne, first->consumer, 11, "a");
  sim.say_delivery(kOne, first->consumer, 12, "b");
  CHECK(client.await<amqp::BasicDeliver>(1));
  CHECK(client.await<amqp::BasicDeliver>(1));
  sim.sent.clear();  // credit
  sim.kill(kOne);
  const auto again = sim.take<queue::Consume>(kTwo, queue::kConsume);
  CHECK(again->channel_limit == 2);
  sim.say_consume_ok(kTwo, *again);
  sim.sent.clear();
  sim.say_delivery(kTwo, again->consumer, 21, "a", true);
  sim.say_delivery(kTwo, again->consumer, 22, "b", true);
  CHECK(client.await<amqp::BasicDeliver>(1));
  CHECK(client.await<amqp::BasicDeliver>(1));
  CHECK(sim.silent());  // nothing went back

  client.send(1, amqp::BasicAck{.delivery_tag = 1});
  client.send(1, amqp::BasicNack{.delivery_tag = 2, .requeue = true});
  sim.settle();
  CHECK(sim.silent());
  client.send(1, amqp::BasicAck{.delivery_tag = 4, .multiple = true});
  sim.settle();
  const auto ack = sim.take<queue::Ack>(kTwo, queue::kAck);
  CHECK(ack->tokens == std::vector<queue::DeliveryToken>{21, 22});
  CHECK(!has<amqp::ChannelClose>(client));
}

TEST_CASE("what is acknowledged between two masters goes nowhere") {
  PuppetMasters sim;
  sim.declare();
  AmqpClient client(sim.host);
  sim.open(client);
  const auto first = sim.consume(client, "c");
  sim.say_delivery(kOne, first->consumer, 11, "a");
  CHECK(client.await<amqp::BasicDeliver>(1));
  sim.end_links(kOne);
  client.send(1, amqp::BasicAck{.delivery_tag = 1});
  sim.settle();
  CHECK(sim.silent());
  sim.declare_down(kOne);
  sim.take<queue::Consume>(kTwo, queue::kConsume);
  CHECK(sim.silent());
  CHECK(!has<amqp::ChannelClose>(client));
}

// --- asking -------------------------------------------------------------------------------------

namespace {

// The answer of the former master, when it comes at last, is passed over; the next one's counts.
template <typename Request, typename Answer, typename Ok, typename Method>
void check_asked_again(const Method& method, queue::QueueLetterKind kind) {
  for (const bool links_first : {false, true}) {
    CAPTURE(links_first);
    PuppetMasters sim;
    sim.declare();
    AmqpClient client(sim.host);
    sim.open(client);
    client.send(1, method);
    sim.settle();
    const auto first = sim.take<Request>(kOne, kind);
    CHECK(first->epoch == 1);
    sim.kill(kOne, links_first);
    const auto again = sim.take<Request>(kTwo, kind);
    CHECK(again->epoch == 2);
    CHECK(again->request != first->request);
    sim.say_answer<Answer>(kOne, *first);
    CHECK(!has<Ok>(client));
    sim.say_answer<Answer>(kTwo, *again);
    CHECK(client.await<Ok>(1));
    sim.say_answer<Answer>(kTwo, *again);
    CHECK(!has<Ok>(client));
    CHECK(!has<amqp::ChannelClose>(client));
    CHECK(sim.silent());
  }
}

}  // namespace

TEST_CASE("what was asked and not answered is asked again, and answered once") {
  check_asked_again<queue::Get, queue::GetResult, amqp::BasicGetEmpty>(amqp::BasicGet{.queue = "q"},
                                                                       queue::kGet);
  check_asked_again<queue::Purge, queue::Purged, amqp::QueuePurgeOk>(amqp::QueuePurge{.queue = "q"},
                                                                     queue::kPurge);
  check_asked_again<queue::Inspect, queue::Inspected, amqp::QueueDeclareOk>(
      amqp::QueueDeclare{.queue = "q", .passive = true, .arguments = {}}, queue::kInspect);
  check_asked_again<queue::Delete, queue::DeleteResult, amqp::QueueDeleteOk>(
      amqp::QueueDelete{.queue = "q"}, queue::kDelete);
}

TEST_CASE("a consumer that was not there yet begins at the next master") {
  PuppetMasters sim;
  sim.declare(true);
  AmqpClient client(sim.host);
  sim.open(client);
  client.send(1, amqp::BasicConsume{.queue = "q", .consumer_tag = "c", .arguments = {}});
  sim.settle();
  const auto first = sim.take<queue::Consume>(kOne, queue::kConsume);
  sim.lead(kOne);
  sim.transfer(kTwo);
  const auto again = sim.take<queue::Consume>(kTwo, queue::kConsume);
  CHECK(again->consumer != first->consumer);
  sim.say_consume_ok(kOne, *first);
  sim.say_delivery(kOne, first->consumer, 11, "late");
  CHECK(!has<amqp::BasicConsumeOk>(client));
  sim.say_consume_ok(kTwo, *again);
  CHECK(client.await<amqp::BasicConsumeOk>(1));
  sim.say_delivery(kTwo, again->consumer, 21, "m");
  ServerFrame frame;
  REQUIRE(client.await<amqp::BasicDeliver>(1, frame));
  CHECK(frame.body == "m");
  CHECK(sim.silent());
}

TEST_CASE("a consumer that is being cancelled is not subscribed again") {
  for (const bool by_argument : {false, true}) {
    CAPTURE(by_argument);
    PuppetMasters sim;
    sim.declare(by_argument);
    AmqpClient client(sim.host);
    sim.open(client);
    sim.consume(client, "c");
    client.send(1, amqp::BasicCancel{.consumer_tag = "c"});
    sim.settle();
    sim.take<queue::Cancel>(kOne, queue::kCancel);
    sim.kill(kOne);
    const auto again = sim.take<queue::Cancel>(kTwo, queue::kCancel);
    CHECK(sim.silent());
    sim.say_answer<queue::CancelOk>(kTwo, *again);
    CHECK(client.await<amqp::BasicCancelOk>(1));
    sim.consume(client, "c");
  }
}

// --- the end of the channel ---------------------------------------------------------------------

TEST_CASE("a channel that is closed stays owed what it published until that is committed") {
  for (const bool links_first : {false, true}) {
    CAPTURE(links_first);
    PuppetMasters sim;
    sim.declare();
    AmqpClient client(sim.host);
    sim.open(client);
    sim.publish(client, {"a", "b"});
    CHECK(sim.take_publish(kOne, 1) == "1:a b");
    client.send(1, amqp::ChannelClose{.reply_code = 200, .reply_text = ""});
    sim.settle();
    CHECK(sim.take<ChannelGone>(kOne, queue::kChannelGone)->epoch == 1);
    sim.say_settled(kOne, 1);
    CHECK(!has<amqp::ChannelCloseOk>(client));
    sim.kill(kOne, links_first);
    CHECK(sim.take_publish(kTwo, 2) == "2:b");
    const auto gone = sim.take<ChannelGone>(kTwo, queue::kChannelGone);
    CHECK(gone->epoch == 2);
    CHECK(gone->wants_notice);
    CHECK((gone->notify == gone->from));
    CHECK(sim.shard().departures().lines() == 1);
    CHECK(!has<amqp::ChannelCloseOk>(client));
    sim.say_settled(kTwo, 2);
    sim.say_answer<queue::ChannelForgotten>(kTwo, *gone);
    CHECK(client.await<amqp::ChannelCloseOk>(1));
    CHECK(sim.shard().departures().lines() == 0);
    sim.kill(kTwo, links_first);
    CHECK(sim.silent());
  }
}

TEST_CASE("a channel that ends between two masters is owed the same") {
  PuppetMasters sim;
  sim.declare();
  AmqpClient client(sim.host);
  sim.open(client);
  sim.publish(client, {"a"});
  sim.take_publish(kOne, 1);
  sim.end_links(kOne);
  sim.publish(client, {"b"});
  client.abort();
  sim.settle();
  CHECK(sim.silent());
  sim.declare_down(kOne);
  CHECK(sim.take_publish(kTwo, 2) == "1:a b");
  const auto gone = sim.take<ChannelGone>(kTwo, queue::kChannelGone);
  sim.say_answer<queue::ChannelForgotten>(kTwo, *gone);
  CHECK(sim.shard().departures().lines() == 0);
}

TEST_CASE("a channel that ends in the turn of the news is owed the same") {
  PuppetMasters sim;
  sim.declare();
  AmqpClient client(sim.host);
  sim.open(client);
  sim.publish(client, {"a"});
  sim.take_publish(kOne, 1);
  const auto life = sim.shard().view().node(kOne)->life;
  sim.node.run_on_shard(0, [&] {
    sim.shard().metadata().store().apply(cluster::metadata::NodeDown{.node = kOne, .life = life});
    sim.shard().for_each_connection([](broker::Connection& one) { one.close_forced("enough"); });
  });
  sim.settle();
  sim.take<ChannelGone>(kOne, queue::kChannelGone);
  CHECK(sim.take_publish(kTwo, 2) == "1:a");
  sim.say_answer<queue::ChannelForgotten>(kTwo, *sim.take<ChannelGone>(kTwo, queue::kChannelGone));
  CHECK(sim.shard().departures().lines() == 0);
}

TEST_CASE("a transaction of which the rest can only be refused ends") {
  PuppetMasters sim;
  sim.declare(false, true, false);
  AmqpClient client(sim.host);
  sim.open(client);
  client.send(1, amqp::TxSelect{});
  REQUIRE(client.await<amqp::TxSelectOk>(1));
  sim.publish(client, {"a"});
  client.send(1, amqp::TxCommit{});
  sim.settle();
  CHECK(sim.take_publish(kOne, 0) == "1:a");
  sim.set_mirrors();
  sim.kill(kOne);
  ServerFrame frame;
  REQUIRE(client.await<amqp::ChannelClose>(1, frame));
  CHECK(frame.as<amqp::ChannelClose>().reply_code == 406);
}

TEST_CASE("who takes leave of a queue without a master does not wait") {
  for (const bool links_first : {false, true}) {
    PuppetMasters sim;
    sim.declare();
    AmqpClient client(sim.host);
    sim.open(client);
    sim.publish(client, {"a"});
    sim.kill(kOne);
    client.send(1, amqp::ChannelClose{.reply_code = 200, .reply_text = ""});
    sim.settle();
    CHECK(!has<amqp::ChannelCloseOk>(client));
    sim.kill(kTwo, links_first);
    CHECK(client.await<amqp::ChannelCloseOk>(1));
    CHECK(sim.shard().departures().lines() == 0);
  }
}

}  // namespace mirrored_channel_test
