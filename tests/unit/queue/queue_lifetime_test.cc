// Consumers that come and go, channels that end, queues that are deleted.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "broker/runtime/memory_gauge.h"
#include "queue/queue_process.h"
#include "tests/unit/queue/queue_fixture.h"

namespace ringtail::queue::queue_lifetime_test {
namespace {

using test::body_of;
using test::FakeChannel;
using test::Fixture;

struct LifetimeFixture : Fixture {
  FakeChannel channel{*this};
  FakeChannel other{*this};

  Answer consume(FakeChannel& from, Qid qid, ConsumerId consumer, bool exclusive) {
    from.consume(qid, consumer, [&](Consume& letter) { letter.exclusive = exclusive; });
    run();
    const auto answer = from.take<ConsumeOk>(kConsumeOk);
    REQUIRE(answer != nullptr);
    CHECK(answer->request == consumer);
    return answer->answer;
  }
  void cancel(FakeChannel& from, Qid qid, ConsumerId consumer) {
    from.send<Cancel>(qid, [&](Cancel& letter) { letter.consumer = consumer; });
    run();
  }
  void ask_delete(FakeChannel& from, Qid qid, bool if_unused = false, bool if_empty = false) {
    from.send<Delete>(qid, [&](Delete& letter) {
      letter.request = 5;
      letter.if_unused = if_unused;
      letter.if_empty = if_empty;
    });
    run();
  }
  std::uint64_t ready(Qid qid) {
    other.send<Inspect>(qid);
    run();
    const auto seen = other.take<Inspected>(kInspected);
    return seen->answer == Answer::kOk ? seen->messages_ready : ~0ULL;
  }
};

TEST_CASE_FIXTURE(LifetimeFixture, "an exclusive consumer is alone") {
  const Qid qid = declare("q");
  CHECK(consume(channel, qid, 1, true) == Answer::kOk);
  CHECK(consume(other, qid, 1, false) == Answer::kExclusiveUse);
  CHECK(consume(channel, qid, 2, true) == Answer::kExclusiveUse);
  cancel(channel, qid, 1);
  CHECK(consume(other, qid, 2, false) == Answer::kOk);
  CHECK(consume(channel, qid, 3, true) == Answer::kExclusiveUse);
  CHECK(consume(channel, qid, 4, false) == Answer::kOk);
  other.send<ChannelGone>(qid);
  cancel(channel, qid, 4);
  CHECK(consume(channel, qid, 5, true) == Answer::kOk);
}

TEST_CASE_FIXTURE(LifetimeFixture,
                  "nothing is delivered after cancel-ok; what is held stays held") {
  const Qid qid = declare("q");
  channel.consume(qid, 1);
  channel.publish(qid, {"a", "b"});
  run();
  std::vector<DeliveryToken> tokens;
  CHECK(channel.bodies(&tokens) == "a b");
  cancel(channel, qid, 1);
  CHECK(channel.take<CancelOk>(kCancelOk)->consumer == 1);
  channel.publish(qid, {"c"});
  channel.requeue(qid, {tokens[0]});
  channel.credit(qid, 1, 2, 0);
  run();
  CHECK(channel.bodies() == "");
  CHECK(ready(qid) == 2);
  // The other one is still the channel's to acknowledge or give back.
  channel.requeue(qid, {tokens[1]});
  run();
  other.consume(qid, 9);
  run();
  CHECK(other.bodies() == "a* b* c");
}

TEST_CASE_FIXTURE(LifetimeFixture, "cancel of an unknown consumer is answered") {
  const Qid qid = declare("q");
  cancel(channel, qid, 3);
  CHECK(channel.take<CancelOk>(kCancelOk)->consumer == 3);
  CHECK(removals.empty());
}

TEST_CASE_FIXTURE(LifetimeFixture, "a channel that ends gives back all it had, marked") {
  const Qid qid = declare("q");
  channel.consume(qid, 1, [](Consume& letter) { letter.prefetch = 2; });
  channel.publish(qid, {"a", "b", "c", "d"});
  run();
  std::vector<DeliveryToken> tokens;
  CHECK(channel.bodies(&tokens) == "a b");
  channel.send<Get>(qid);
  run();
  CHECK(body_of(channel.take<GetResult>(kGetResult)->message) == "c");
  channel.ack(qid, {tokens[0]});
  other.consume(qid, 1);
  run();
  CHECK(channel.bodies() == "d");
  CHECK(other.bodies() == "");
  channel.send<ChannelGone>(qid);
  run();
  CHECK(other.bodies() == "b* c* d*");
  channel.ack(qid, tokens);
  channel.send<ChannelGone>(qid);
  run();
  CHECK(ready(qid) == 0);
}

TEST_CASE_FIXTURE(LifetimeFixture, "delete conditions") {
  const Qid qid = declare("q");
  CHECK(consume(channel, qid, 1, false) == Answer::kOk);
  ask_delete(other, qid, true, false);
  CHECK(other.take<DeleteResult>(kDeleteResult)->answer == Answer::kInUse);
  cancel(channel, qid, 1);
  channel.publish(qid, {"a", "b"});
  ask_delete(other, qid, false, true);
  CHECK(other.take<DeleteResult>(kDeleteResult)->answer == Answer::kNotEmpty);
  CHECK(removals.empty());
  ask_delete(other, qid, true, false);
  REQUIRE(removals.size() == 1);
  CHECK(other.take<DeleteResult>(kDeleteResult) == nullptr);
  complete_removals();
  const auto result = other.take<DeleteResult>(kDeleteResult);
  REQUIRE(result != nullptr);
  CHECK(result->answer == Answer::kOk);
  CHECK(result->messages == 2);
  CHECK(result->request == 5);
  CHECK(registry->find(qid) == nullptr);
}

TEST_CASE_FIXTURE(LifetimeFixture, "handed-out messages do not make a queue non-empty") {
  const Qid qid = declare("q");
  channel.publish(qid, {"a"});
  channel.send<Get>(qid);
  ask_delete(other, qid, true, true);
  CHECK(removals.size() == 1);
}

TEST_CASE_FIXTURE(LifetimeFixture, "a queue that is going delivers nothing and is not found") {
  const std::int64_t before = runtime::MemoryGauge::total();
  const Qid qid = declare("q");
  channel.consume(qid, 1, [](Consume& letter) { letter.prefetch = 1; });
  channel.publish(qid, {"a", "b", "c"});
  run();
  std::vector<DeliveryToken> tokens;
  CHECK(channel.bodies(&tokens) == "a");
  ask_delete(other, qid);
  channel.heard.clear();
  channel.ack(qid, tokens);
  channel.publish(qid, {"d"});
  channel.send<Get>(qid);
  channel.send<Purge>(qid);
  channel.send<Inspect>(qid);
  channel.consume(qid, 2);
  run();
  CHECK(channel.bodies() == "");
  CHECK(channel.take<Settled>(kSettled)->up_to == 4);
  CHECK(channel.take<GetResult>(kGetResult)->answer == Answer::kNotFound);
  CHECK(channel.take<Purged>(kPurged)->answer == Answer::kNotFound);
  CHECK(channel.take<Inspected>(kInspected)->answer == Answer::kNotFound);
  CHECK(channel.take<ConsumeOk>(kConsumeOk)->answer == Answer::kNotFound);
  // Whoever asks meanwhile hears of it when it is true.
  ask_delete(channel, qid);
  CHECK(channel.take<DeleteResult>(kDeleteResult) == nullptr);
  CHECK(removals.size() == 1);
  complete_removals();
  CHECK(other.take<DeleteResult>(kDeleteResult)->messages == 2);
  const auto second = channel.take<DeleteResult>(kDeleteResult);
  CHECK(second->answer == Answer::kNotFound);
  CHECK(second->messages == 0);
  const auto notice = channel.take<Cancelled>(kCancelled);
  REQUIRE(notice != nullptr);
  CHECK(notice->consumer == 1);
  CHECK(channel.take<Cancelled>(kCancelled) == nullptr);
  CHECK(runtime::MemoryGauge::total() == before);
}

TEST_CASE_FIXTURE(LifetimeFixture, "letters to a queue that is gone are answered in its stead") {
  const Qid qid = declare("q");
  ask_delete(other, qid);
  complete_removals();
  channel.publish(qid, {"a", "b"});
  channel.consume(qid, 4);
  channel.send<Cancel>(qid, [](Cancel& letter) { letter.consumer = 4; });
  channel.send<Get>(qid);
  channel.ack(qid, {1});
  channel.requeue(qid, {1});
  channel.credit(qid, 4, 1, 1);
  channel.send<Purge>(qid);
  channel.send<Inspect>(qid);
  channel.send<Delete>(qid, [](Delete& letter) { letter.request = 6; });
  channel.send<ChannelGone>(qid);
  run();
  REQUIRE(channel.heard.size() == 7);
  for (const auto& letter : channel.heard) CHECK(letter->from.actor.value == qid.value);
  CHECK(channel.take<Settled>(kSettled)->up_to == 2);
  const auto consume_ok = channel.take<ConsumeOk>(kConsumeOk);
  CHECK(consume_ok->answer == Answer::kNotFound);
  CHECK(consume_ok->consumer == 4);
  CHECK(channel.take<CancelOk>(kCancelOk)->consumer == 4);
  CHECK(channel.take<GetResult>(kGetResult)->answer == Answer::kNotFound);
  CHECK(channel.take<Purged>(kPurged)->answer == Answer::kNotFound);
  CHECK(channel.take<Inspected>(kInspected)->answer == Answer::kNotFound);
  const auto result = channel.take<DeleteResult>(kDeleteResult);
  CHECK(result->answer == Answer::kNotFound);
  CHECK(result->request == 6);
  CHECK(result->messages == 0);
}

// What no queue sends is no more than a Letter. A registry that looks for a queue in it reads
// behind its end, which the sanitizers see.
TEST_CASE_FIXTURE(LifetimeFixture, "a letter of another layer to nobody is not read as a queue's") {
  const Qid qid = declare("a");
  const runtime::Address nobody{shard.node(), shard.id(), runtime::ActorId{qid.value + 1}};
  for (runtime::LetterKind kind = 0; kind < runtime::kBrokerLetters + 0x100; ++kind) {
    if (kind >= runtime::kQueueLetters && kind <= kChannelForgotten) continue;
    shard.post(channel.address(), nobody, std::make_unique<runtime::Letter>(kind));
    registry->receive(std::make_unique<runtime::Letter>(kind));
  }
  run();
  CHECK(channel.heard.empty());
}

TEST_CASE_FIXTURE(LifetimeFixture, "an auto-delete queue goes with its last consumer") {
  const Qid qid = declare("q", true);
  channel.publish(qid, {"a"});
  run();
  CHECK(removals.empty());

  SUBCASE("by cancel: cancel-ok comes when the queue is gone") {
    channel.consume(qid, 1);
    other.consume(qid, 1);
    cancel(channel, qid, 1);
    CHECK(channel.take<CancelOk>(kCancelOk) != nullptr);
    CHECK(removals.empty());
    cancel(other, qid, 1);
    CHECK(removals.size() == 1);
    CHECK(other.take<CancelOk>(kCancelOk) == nullptr);
    complete_removals();
    CHECK(other.take<CancelOk>(kCancelOk)->consumer == 1);
    CHECK(other.take<Cancelled>(kCancelled) == nullptr);
  }
  SUBCASE("by the end of its channel") {
    channel.consume(qid, 1);
    channel.send<ChannelGone>(qid);
    run();
    CHECK(removals.size() == 1);
    complete_removals();
  }
  SUBCASE("a channel without consumers does not count") {
    channel.send<Get>(qid);
    channel.send<ChannelGone>(qid);
    run();
    CHECK(removals.empty());
    return;
  }
  CHECK(registry->find(qid) == nullptr);
  CHECK(registry->size() == 0);
}

TEST_CASE_FIXTURE(LifetimeFixture, "a queue removed by somebody else tells its consumers") {
  const Qid qid = declare("q");
  channel.consume(qid, 1);
  channel.consume(qid, 2, [](Consume& letter) { letter.no_ack = true; });
  other.consume(qid, 1);
  channel.publish(qid, {"a", "b", "c", "d"});
  // Removed in the same turn in which deliveries were gathered.
  shard.run_turn();
  channel.publish(qid, {"e"});
  store.apply(cluster::metadata::DeleteQueue{"/", "q", qid});
  run();
  CHECK(channel.take<Cancelled>(kCancelled)->consumer == 1);
  CHECK(channel.take<Cancelled>(kCancelled)->consumer == 2);
  CHECK(other.take<Cancelled>(kCancelled)->consumer == 1);
  CHECK(channel.take<Settled>(kSettled)->up_to == 4);
  CHECK(channel.take<Settled>(kSettled)->up_to == 5);
}

TEST_CASE_FIXTURE(LifetimeFixture, "a late delete does not touch the queue's successor") {
  const Qid first = declare("q");
  ask_delete(channel, first);
  complete_removals();
  const Qid second = declare("q");
  CHECK(second != first);
  ask_delete(channel, first);
  CHECK(removals.empty());
  CHECK(registry->find(second) != nullptr);
}

TEST_CASE_FIXTURE(LifetimeFixture, "a big queue is freed over several turns") {
  const std::int64_t before = runtime::MemoryGauge::total();
  const Qid qid = declare("q");
  channel.consume(qid, 1);
  for (int i = 0; i < 50; ++i) channel.publish(qid, std::vector<std::string>(1000));
  run();
  channel.heard.clear();
  store.apply(cluster::metadata::DeleteQueue{"/", "q", qid});
  CHECK(registry->find(qid) == nullptr);
  shard.run_turn();
  CHECK(runtime::MemoryGauge::total() > before);
  run();
  CHECK(runtime::MemoryGauge::total() == before);
}

TEST_CASE_FIXTURE(LifetimeFixture, "a node that stops frees what is left") {
  const std::int64_t before = runtime::MemoryGauge::total();
  const Qid qid = declare("q");
  channel.consume(qid, 1, [](Consume& letter) { letter.prefetch = 2; });
  other.publish(qid, {"a", "b", "c"});
  run();
  channel.heard.clear();
  registry.reset();
  CHECK(runtime::MemoryGauge::total() == before);
}

TEST_CASE("a registry makes the queues that exist already, and only its shard's") {
  test::ManualTime env;
  test::DeadLetterLog dead_letters;
  runtime::Mailboxes mailboxes(2);
  runtime::Shard shard(runtime::NodeId{0}, runtime::ShardId{0}, env, mailboxes);
  cluster::metadata::Store store(2);
  std::vector<Qid> here;
  const auto declare = [&](const std::string& name) {
    cluster::metadata::DeclareQueue command;
    command.record.vhost = "/";
    command.record.name = name;
    const auto record = store.apply(command).queue;
    if (record->shard == shard.id()) here.push_back(record->qid);
  };
  for (int i = 0; i < 4; ++i) declare("before" + std::to_string(i));
  QueueRegistry registry(shard, store, nullptr, dead_letters);
  for (int i = 0; i < 4; ++i) declare("after" + std::to_string(i));
  CHECK(here.size() == 4);
  CHECK(registry.size() == here.size());
  for (const Qid qid : here) CHECK(registry.find(qid) != nullptr);
}

}  // namespace
}  // namespace ringtail::queue::queue_lifetime_test
