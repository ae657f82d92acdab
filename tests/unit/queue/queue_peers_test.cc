// Channels of another node, and what a queue does when that node goes.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "queue/queue_process.h"
#include "tests/unit/queue/queue_fixture.h"

namespace ringtail::queue::queue_peers_test {
namespace {

using runtime::NodeId;
using test::FakeChannel;
using test::Fixture;

struct PeersFixture : Fixture {
  FakeChannel one{*this, NodeId{7}};
  FakeChannel two{*this, NodeId{7}};
  FakeChannel third{*this, NodeId{8}};
  FakeChannel here{*this};

  void consume(FakeChannel& channel, Qid qid, ConsumerId consumer, std::uint32_t prefetch) {
    channel.consume(qid, consumer, [&](Consume& letter) { letter.prefetch = prefetch; });
    run();
    const auto answer = channel.take<ConsumeOk>(kConsumeOk);
    REQUIRE(answer != nullptr);
    CHECK(answer->answer == Answer::kOk);
  }
};

TEST_CASE_FIXTURE(PeersFixture, "the messages of a node that goes come back once, to others") {
  cluster::metadata::QueueOptions options;
  options.delivery_limit = 1;
  const Qid qid = declare("q", options);
  consume(one, qid, 1, 2);
  consume(two, qid, 1, 2);
  here.publish(qid, {"a", "b", "c", "d", "e"});
  run();
  CHECK(one.bodies() == "a c");
  CHECK(two.bodies() == "b d");
  consume(third, qid, 1, 0);
  CHECK(third.bodies() == "e");

  registry->peer_down(NodeId{7});
  run();
  // None was given to the other channel that ended with it: that would have been the second return.
  CHECK(third.bodies() == "a* b* c* d*");
  CHECK(dead_letters.take().empty());
  CHECK(one.heard.empty());
  CHECK(two.heard.empty());
  CHECK(registry->find(qid)->stats().consumers == 1);
  registry->peer_down(NodeId{7});
  run();
  CHECK(third.heard.empty());
}

TEST_CASE_FIXTURE(PeersFixture, "a node's answers are not owed to its next life") {
  const Qid qid = declare("q");
  one.send<Delete>(qid, [](Delete& letter) { letter.request = 5; });
  third.send<Delete>(qid, [](Delete& letter) { letter.request = 6; });
  run();
  registry->peer_down(NodeId{7});
  complete_removals();
  CHECK(one.heard.empty());
  const auto answer = third.take<DeleteResult>(kDeleteResult);
  REQUIRE(answer != nullptr);
  CHECK(answer->request == 6);
}

TEST_CASE_FIXTURE(PeersFixture, "what is gathered for a node that goes is not sent") {
  const Qid qid = declare("q");
  consume(one, qid, 1, 0);
  here.publish(qid, {"a"});
  // Handled after the publish, before the turn's deliveries leave.
  struct Down final : runtime::Actor {
    explicit Down(QueueRegistry& of) : registry(of) {}
    void receive(runtime::LetterPtr) noexcept override { registry.peer_down(NodeId{7}); }
    QueueRegistry& registry;
  } down(*registry);
  const runtime::Address address = shard.add(down);
  shard.post(address, address, std::make_unique<Purge>(qid));
  run();
  CHECK(one.heard.empty());
  CHECK(registry->find(qid)->stats().messages_ready == 1);
  shard.remove(address.actor);
}

TEST_CASE_FIXTURE(PeersFixture, "an auto-delete queue whose consumers went with their node goes") {
  const Qid qid = declare("q", true);
  consume(one, qid, 1, 0);
  registry->peer_down(NodeId{8});
  CHECK(removals.empty());
  registry->peer_down(NodeId{7});
  REQUIRE(removals.size() == 1);
  complete_removals();
  CHECK(registry->find(qid) == nullptr);
}

TEST_CASE_FIXTURE(PeersFixture, "another node's mistakes are not this one's end") {
  const Qid qid = declare("q");
  consume(one, qid, 1, 0);
  one.consume(qid, 1);  // the same consumer once more
  run();
  here.publish(qid, {"a", "b"});
  run();
  CHECK(one.bodies() == "a b");
  // It claims to have written more than it got: its window is what it was.
  one.credit(qid, 1, 1'000'000, 1ULL << 60);
  here.publish(qid, {"c"});
  run();
  CHECK(one.bodies() == "c");
}

TEST_CASE_FIXTURE(PeersFixture, "a letter to a queue that is not known yet waits for it") {
  const Qid first = declare("first");
  const Qid next{first.value + 1};
  const Qid later{first.value + 2};
  one.publish(next, {"a", "b"});
  two.publish(next, {"c"});
  third.publish(later, {"d"});
  run();
  // Nobody has the messages, so nobody says so.
  CHECK(one.heard.empty());
  CHECK(third.heard.empty());
  CHECK(declare("second") == next);
  run();
  CHECK(registry->find(next)->stats().messages_ready == 3);
  CHECK(one.take<Settled>(kSettled)->up_to == 2);
  CHECK(two.take<Settled>(kSettled)->up_to == 1);
  CHECK(third.heard.empty());
}

TEST_CASE_FIXTURE(PeersFixture, "what waited for a queue that came and went is answered as ever") {
  const Qid next{declare("first").value + 1};
  one.publish(next, {"a"});
  third.publish(next, {"b"});
  run();
  registry->peer_down(NodeId{7});
  // As a replica that was far behind hears of it: it never sees the queue.
  cluster::metadata::Store ahead(1);
  cluster::metadata::DeclareQueue command;
  command.record.vhost = "/";
  for (const char* name : {"first", "second"}) {
    command.record.name = name;
    ahead.apply(command);
  }
  ahead.apply(cluster::metadata::DeleteQueue{"/", "second", next});
  store.restore(ahead.save());
  run();
  CHECK(third.take<Settled>(kSettled)->up_to == 1);
  CHECK(one.heard.empty());  // its node is gone, and what it sent
}

}  // namespace
}  // namespace ringtail::queue::queue_peers_test
