// Who has the copies of mirrored queues, and who leads: declaring, lives that end, promotion,
// return.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "cluster/metadata/kept_state.h"
#include "tests/unit/cluster/saved_fixture.h"
#include "tests/unit/cluster/views_fixture.h"

namespace store_views_test {

using namespace ringtail;
using namespace ringtail::cluster::metadata;

TEST_CASE("a new queue has copies in sync on all nodes that are wanted and up, its home first") {
  Cluster cluster(4);
  cluster.down(4);
  cluster.declare("q", mirrors_all(), 2);
  CHECK(cluster.view() == "1: b1 a1 c1");
  CHECK(cluster.queue()->home == NodeId{2});
  CHECK(cluster.queue()->view->revision == 1);
  CHECK(cluster.queue()->view->members.front().shard == cluster.queue()->shard);
  for (const QueueMember& member : cluster.queue()->view->members) CHECK(member.joined == 1);
  cluster.declare("nodes", mirrors_nodes({"c", "nobody", "d", "a"}), 2);
  CHECK(cluster.view("nodes") == "1: c1 a1");
  cluster.declare("two", mirrors_exactly(2), 1);
  // The one with the fewest copies.
  CHECK(cluster.view("two") == "1: a1 b1");
  cluster.declare("one", mirrors_nodes({"b"}), 1);
  CHECK(cluster.view("one") == "1: b1");
  cluster.declare("plain", std::nullopt);
  CHECK(cluster.view("plain") == "on a");
}

TEST_CASE("the first of the nodes that the arguments name leads, or there is no queue") {
  Cluster cluster(3);
  cluster.down(2);
  CHECK(cluster.declare("q", mirrors_nodes({"b", "a"})).outcome == Outcome::kNoNode);
  CHECK(cluster.declare("q", mirrors_nodes({"z", "a"})).outcome == Outcome::kNoNode);
  CHECK(cluster.view() == "gone");
}

TEST_CASE("a policy's nodes that are up lead, the client's before others; if none is, its node") {
  Cluster cluster(3);
  cluster.policy(
      {{"ha-mode", std::string("nodes")}, {"ha-params", std::vector<std::string>{"c", "b"}}});
  cluster.declare("elsewhere", std::nullopt, 1);
  CHECK(cluster.view("elsewhere") == "1: c1 b1");
  cluster.declare("here", std::nullopt, 2);
  CHECK(cluster.view("here") == "1: b1 c1");
  cluster.down(2);
  cluster.down(3);
  cluster.declare("nobody", std::nullopt, 1);
  CHECK(cluster.view("nobody") == "1: a1");
}

TEST_CASE("exclusive queues have no mirrors, quorum queues have a majority") {
  Cluster cluster(5);
  cluster.policy({{"ha-mode", std::string("all")}});
  DeclareQueue command;
  command.record.vhost = "/";
  command.record.name = "mine";
  command.record.home = NodeId{2};
  command.record.exclusive_owner = 7;
  command.record.options.mirrors = mirrors_all();
  cluster.store.apply(command);
  CHECK(cluster.view("mine") == "on b");
  command.record.name = "quorum";
  command.record.exclusive_owner = 0;
  command.record.durable = true;
  command.record.options.mirrors.reset();
  command.record.options.type = QueueType::kQuorum;
  cluster.store.apply(command);
  CHECK(cluster.view("quorum") == "1: b1 a1 c1");
}

TEST_CASE("copies are spread over the shards of every node, and leave room where they go") {
  Cluster cluster(2);
  for (int i = 0; i < 4; ++i) cluster.declare("q" + std::to_string(i), mirrors_all());
  for (int i = 0; i < 4; ++i) {
    for (const QueueMember& member : cluster.queue("q" + std::to_string(i))->view->members) {
      CHECK(member.shard.value == i % 2);
    }
  }
  for (const char* name : {"q0", "q2"}) {
    cluster.store.apply(DeleteQueue{"/", name, cluster.queue(name)->qid});
  }
  cluster.declare("plain", std::nullopt, 2);
  CHECK(cluster.queue("plain")->shard.value == 0);
}

TEST_CASE("min-masters counts masters, not copies") {
  Cluster cluster(2);
  for (int i = 0; i < 3; ++i) cluster.declare("q" + std::to_string(i), mirrors_all(), 1);
  DeclareQueue command;
  command.record.vhost = "/";
  command.record.name = "new";
  command.record.durable = true;
  command.record.home = NodeId{1};
  command.fewest_queues = true;
  CHECK(cluster.store.apply(command).queue->home == NodeId{2});
  cluster.down(1);
  cluster.up(1);
  command.record.name = "next";
  // b leads all by now.
  CHECK(cluster.store.apply(command).queue->home == NodeId{1});
}

TEST_CASE("one entry gives all queues of a dead node to the next in sync") {
  Cluster cluster(3);
  for (int i = 0; i < 20; ++i) {
    cluster.declare("q" + std::to_string(i), mirrors_all(), 1 + i % 3 % 2, i % 4 != 0);
  }
  cluster.evict(2, "q2");
  CHECK(cluster.view("q2") == "1: a1 c1 b1?");
  cluster.down(1);
  CHECK(cluster.view("q0") == "2: b1 a1! c1");
  CHECK(cluster.view("q1") == "1: b1 a1! c1");
  CHECK(cluster.view("q2") == "2: c1 a1! b1?");
  CHECK(cluster.queue("q2")->home == NodeId{3});
  CHECK(cluster.queue("q2")->shard == cluster.queue("q2")->view->members.front().shard);
  CHECK(cluster.store.awaits_lead(NodeId{2}));
  CHECK(cluster.store.awaits_lead(NodeId{3}));
  CHECK(cluster.lead(2) == Outcome::kDone);
  CHECK(cluster.view("q0") == "2: b1 c1");
  CHECK(cluster.view("q2") == "2: c1 a1! b1?");
  CHECK_FALSE(cluster.store.awaits_lead(NodeId{2}));
  CHECK(cluster.lead(3) == Outcome::kDone);
  CHECK(cluster.view("q2") == "2: c1 b1?");
  CHECK(cluster.lead(3) == Outcome::kUnchanged);
}

TEST_CASE("whoever joined goes with its life, and joins again in the next") {
  Cluster cluster(3);
  cluster.declare("q", mirrors_all());
  cluster.evict(2);
  cluster.down(2);
  CHECK(cluster.view() == "1: a1 c1");
  cluster.up(2);
  CHECK(cluster.view() == "1: a1 c1 b2?");
  CHECK(cluster.queue()->view->members.back().joined == cluster.queue()->view->revision);
  CHECK(cluster.admit(2) == Outcome::kDone);
  CHECK(cluster.view() == "1: a1 c1 b2");
}

TEST_CASE("a queue waits for a node that had a whole copy; one that is not durable is gone") {
  Cluster cluster(3);
  cluster.declare("durable", mirrors_all());
  cluster.declare("transient", mirrors_all(), 1, false);
  cluster.evict(3, "durable");
  cluster.down(2);
  cluster.lead(1);
  CHECK(cluster.view("transient") == "1: a1 c1");
  cluster.down(1);
  CHECK(cluster.view("transient") == "2: c1 a1!");
  CHECK(cluster.view("durable") == "1: a1! c1?");
  CHECK(cluster.queue("durable")->view->vacant());
  CHECK(cluster.queue("durable")->home == NodeId{1});
  cluster.down(3);
  CHECK(cluster.view("transient") == "gone");
  CHECK(cluster.view("durable") == "1: a1!");
  // Nobody but a has all of it.
  cluster.up(2);
  cluster.up(3);
  CHECK(cluster.view("durable") == "1: a1!");
  cluster.up(1);
  CHECK(cluster.view("durable") == "2: a2 b2? c2?");
  CHECK(cluster.queue("durable")->view->led());
}

TEST_CASE("lives that end while the record believes others alive: any two that come back lead") {
  std::array<std::uint32_t, 3> order = {1, 2, 3};
  do {
    for (std::uint32_t lost = 1; lost <= 3; ++lost) {
      CAPTURE(order[0]);
      CAPTURE(order[1]);
      CAPTURE(lost);
      Cluster cluster(3);
      cluster.declare("q", mirrors_all());
      std::uint64_t epoch = 1;
      const auto whole_copies = [&cluster] {
        const auto& members = cluster.queue()->view->members;
        return std::count_if(members.begin(), members.end(),
                             [](const QueueMember& one) { return one.in_sync; });
      };
      // All three were killed at once. Two come back, one after the other.
      for (const std::uint32_t id : order) {
        if (id == lost) continue;
        cluster.up(id);
        CHECK(whole_copies() == 3);
        CHECK(cluster.queue()->epoch() >= epoch);
        epoch = cluster.queue()->epoch();
      }
      // The third is declared dead at last. It leads, or the other two know more than it says.
      cluster.down(lost);
      CHECK(whole_copies() == 3);
      const auto view = cluster.queue()->view;
      REQUIRE_FALSE(view->vacant());
      const QueueMember& master = view->members.front();
      CHECK(master.node != NodeId{lost});
      CHECK(master.life == 2);
      CHECK(cluster.lead(master.node.value) == Outcome::kDone);
      CHECK(cluster.queue()->view->members.size() == 2);
      CHECK(cluster.queue()->view->members.back().life == 2);
      CHECK_FALSE(cluster.queue()->view->members.back().in_sync);
      cluster.up(lost);
      CHECK(cluster.queue()->view->members.size() == 3);
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("all lives end by new ones, one after the other, in every order") {
  std::array<std::uint32_t, 3> order = {1, 2, 3};
  do {
    Cluster cluster(3);
    cluster.declare("q", mirrors_all());
    for (const std::uint32_t id : order) {
      cluster.up(id);
      REQUIRE_FALSE(cluster.queue()->view->vacant());
      CHECK(cluster.queue()->view->members.size() == 3);
    }
    const QueueMember master = cluster.queue()->view->members.front();
    CHECK(master.life == 2);
    CHECK(cluster.lead(master.node.value) == Outcome::kDone);
    CHECK(cluster.queue()->view->members.size() == 3);
    CHECK(cluster.queue()->view->led());
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("an attestation takes out what was marked before it, and no more") {
  Cluster cluster(4);
  cluster.declare("q", mirrors_all());
  cluster.down(2);
  const std::uint64_t early = cluster.store.last_mark();
  cluster.down(3);
  CHECK(cluster.store.apply(LeadQueues{NodeId{1}, 1, early}).outcome == Outcome::kUnchanged);
  CHECK(cluster.view() == "1: a1 b1! c1! d1");
  // Not by another node, and not by another life.
  CHECK(cluster.lead(4) == Outcome::kUnchanged);
  CHECK(cluster.store.apply(LeadQueues{NodeId{1}, 2, 99}).outcome == Outcome::kUnchanged);
  CHECK(cluster.store.apply(LeadQueues{NodeId{9}, 1, 99}).outcome == Outcome::kNoNode);
  CHECK(cluster.view() == "1: a1 b1! c1! d1");
  CHECK(cluster.lead(1) == Outcome::kDone);
  CHECK(cluster.view() == "1: a1 d1");
}

TEST_CASE("a life that has come to lead attests that anew") {
  Cluster cluster(3);
  cluster.declare("q", mirrors_all());
  cluster.up(2);  // while the record believes a to live
  CHECK(cluster.view() == "1: a1 b1! c1");
  cluster.up(3);
  const std::uint64_t before = cluster.store.last_mark();
  cluster.down(1);
  CHECK(cluster.view() == "2: b2 a1! c1!");
  CHECK(cluster.store.apply(LeadQueues{NodeId{2}, 2, before}).outcome == Outcome::kUnchanged);
  CHECK(cluster.lead(2) == Outcome::kDone);
  CHECK(cluster.view() == "2: b2 c2?");
}

TEST_CASE("a node that has come back to lead attests what was marked by its return") {
  Cluster cluster(3);
  cluster.declare("q", mirrors_all());
  for (const std::uint32_t id : {1U, 2U, 3U}) cluster.down(id);
  CHECK(cluster.view() == "3: c1! b1! a1!");
  const std::uint64_t before = cluster.store.last_mark();
  cluster.up(2);
  CHECK(cluster.view() == "4: b2 c1! a1!");
  CHECK(cluster.store.last_mark() > before);
  CHECK(cluster.store.apply(LeadQueues{NodeId{2}, 2, before}).outcome == Outcome::kUnchanged);
  CHECK(cluster.lead(2) == Outcome::kDone);
  CHECK(cluster.view() == "4: b2");
}

TEST_CASE("a view changes only from the epoch and revision that its master knows") {
  Cluster cluster(3);
  cluster.declare("q", mirrors_all());
  const auto record = cluster.queue();
  ChangeView evict{"/", "q", record->qid, 1, 1, ViewChangeKind::kEvict, NodeId{2}, 1};
  auto other = evict;
  other.epoch = 2;
  CHECK(cluster.store.apply(other).outcome == Outcome::kUnchanged);
  other = evict;
  other.revision = 2;
  CHECK(cluster.store.apply(other).outcome == Outcome::kUnchanged);
  other = evict;
  other.qid.value += 1;
  CHECK(cluster.store.apply(other).outcome == Outcome::kUnchanged);
  other = evict;
  other.life = 2;
  CHECK(cluster.store.apply(other).outcome == Outcome::kUnchanged);
  other = evict;
  other.node = NodeId{1};  // the master
  CHECK(cluster.store.apply(other).outcome == Outcome::kUnchanged);
  other = evict;
  other.kind = ViewChangeKind::kAdmit;  // it is in sync
  CHECK(cluster.store.apply(other).outcome == Outcome::kUnchanged);
  other = evict;
  other.name = "none";
  CHECK(cluster.store.apply(other).outcome == Outcome::kUnchanged);
  CHECK(cluster.queue() == record);

  const auto result = cluster.store.apply(evict);
  CHECK(result.outcome == Outcome::kDone);
  CHECK(result.queue->view->revision == 2);
  CHECK(cluster.view() == "1: a1 c1 b1?");
  CHECK(cluster.queue()->view->members.back().joined == 2);
  CHECK(cluster.store.apply(evict).outcome == Outcome::kUnchanged);
  CHECK(cluster.evict(3) == Outcome::kDone);
  CHECK(cluster.view() == "1: a1 b1? c1?");
  CHECK(cluster.admit(3) == Outcome::kDone);
  CHECK(cluster.view() == "1: a1 c1 b1?");
  // Whose life has ended is not the master's to judge.
  cluster.down(3);
  CHECK(cluster.evict(3) == Outcome::kUnchanged);
}

TEST_CASE("mastership is handed over to a member in sync, in the next epoch") {
  Cluster cluster(3);
  cluster.declare("q", mirrors_all());
  cluster.declare("plain", std::nullopt);
  cluster.evict(3);
  const Qid qid = cluster.queue()->qid;
  const auto transfer = [&](std::uint32_t to) {
    return cluster.store.apply(TransferQueue{"/", "q", qid, NodeId{to}}).outcome;
  };
  CHECK(transfer(3) == Outcome::kNoNode);
  CHECK(transfer(9) == Outcome::kNoNode);
  CHECK(transfer(1) == Outcome::kUnchanged);
  CHECK(transfer(2) == Outcome::kDone);
  CHECK(cluster.view() == "2: b1 a1 c1?");
  CHECK(cluster.queue()->home == NodeId{2});
  CHECK(cluster.queue()->view->led());
  cluster.down(1);
  CHECK(transfer(2) == Outcome::kNotReady);
  CHECK(cluster.store.apply(TransferQueue{"/", "plain", cluster.queue("plain")->qid, NodeId{2}})
            .outcome == Outcome::kNoNode);
}

TEST_CASE("a node with another number of shards gets its copies spread anew") {
  Cluster cluster(3);
  for (int i = 0; i < 6; ++i) cluster.declare("q" + std::to_string(i), mirrors_all());
  cluster.up(2, 6);  // a leads: the copies of b have ended
  for (int i = 0; i < 6; ++i) {
    const auto view = cluster.queue("q" + std::to_string(i))->view;
    CHECK(view->members[1].shard.value == i);
    CHECK(view->members[1].ended);
  }
  cluster.down(3);
  cluster.down(1);
  // b leads with what it had, on the shards that it has now.
  CHECK(cluster.view("q5") == "2: b2 a1! c1!");
  CHECK(cluster.queue("q5")->shard.value == 5);
}

TEST_CASE("who is forgotten takes along what nobody else has") {
  Cluster cluster(3);
  cluster.declare("shared", mirrors_all());
  cluster.declare("alone", mirrors_nodes({"a"}));
  cluster.declare("waits", mirrors_all());
  cluster.evict(3, "waits");
  cluster.down(1);
  cluster.lead(2);
  cluster.store.apply(ForgetNode{NodeId{1}});
  CHECK(cluster.view("shared") == "2: b1 c1");
  CHECK(cluster.view("alone") == "gone");
  CHECK(cluster.view("waits") == "2: b1 c1?");
  cluster.down(2);
  CHECK(cluster.view("waits") == "2: b1! c1?");
  cluster.store.apply(ForgetNode{NodeId{2}});
  CHECK(cluster.view("waits") == "gone");
  CHECK(cluster.view("shared") == "3: c1");
}

TEST_CASE("a node that lost its disk has none of its copies; what was its own alone begins anew") {
  Cluster cluster(3);
  cluster.declare("shared", mirrors_all());
  cluster.declare("alone", mirrors_nodes({"a"}));
  cluster.down(1);
  cluster.store.apply(node_up(7, 70, 2, "a"));
  CHECK(cluster.view("shared") == "2: b1 c1 a1?");
  CHECK(cluster.view("alone") == "2: a1");
  CHECK(cluster.queue("alone")->home == NodeId{7});
  // All three down; b's disk is lost too; c has all.
  cluster.down(7);
  cluster.down(2);
  CHECK(cluster.view("shared") == "3: c1 b1!");
  cluster.down(3);
  CHECK(cluster.view("shared") == "3: c1! b1!");
  cluster.store.apply(node_up(8, 80, 2, "b"));
  CHECK(cluster.view("shared") == "3: c1!");
  cluster.up(3);
  CHECK(cluster.view("shared") == "4: c2 b1?");
}

namespace {

// Notes what it is told of queues.
struct Watcher final : Observer {
  void queue_added(const std::shared_ptr<const QueueRecord>& record) override {
    told[record->name] = record;
  }
  void queue_removed(const QueueRecord& record) override { told.erase(record.name); }
  void queue_changed(const std::shared_ptr<const QueueRecord>& record) override {
    REQUIRE(told.contains(record->name));
    told[record->name] = record;
    ++changes;
  }
  void queue_moved(const std::shared_ptr<const QueueRecord>& record) override {
    CHECK(record->view == nullptr);
    told[record->name] = record;
  }
  std::map<std::string, std::shared_ptr<const QueueRecord>> told;
  int changes = 0;
};

}  // namespace

TEST_CASE("observers are told of every view, and of a new queue with its first") {
  Cluster cluster(3);
  Watcher watcher;
  cluster.store.add_observer(watcher);
  cluster.declare("q", mirrors_all());
  REQUIRE(watcher.told.contains("q"));
  CHECK(watcher.told["q"]->view->members.size() == 3);
  const auto follows = [&] { return watcher.told["q"] == cluster.queue(); };
  cluster.evict(2);
  CHECK(follows());
  cluster.down(1);
  CHECK(follows());
  cluster.lead(3);
  CHECK(follows());
  CHECK(watcher.changes == 3);
  cluster.up(1);
  CHECK(follows());
  CHECK(watcher.changes == 4);
}

}  // namespace store_views_test
