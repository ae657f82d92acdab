// Placement of mirrored queues: its steps, and walks of clusters by chance.
#include "cluster/metadata/mirror_placement.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "cluster/metadata/kept_state.h"
#include "tests/unit/cluster/saved_fixture.h"
#include "tests/unit/cluster/views_fixture.h"

namespace mirror_placement_test {

using namespace ringtail;
using namespace ringtail::cluster::metadata;

TEST_CASE("all: nodes that come later join, and are admitted by the master") {
  Cluster cluster(2);
  cluster.declare("q", mirrors_all());
  CHECK(cluster.view() == "1: a1 b1");
  cluster.up(3);
  CHECK(cluster.view() == "1: a1 b1 c1?");
  cluster.admit(3);
  CHECK(cluster.view() == "1: a1 b1 c1");
}

TEST_CASE("exactly: a copy that is lost is made elsewhere, and nobody goes for who comes back") {
  Cluster cluster(4);
  cluster.declare("q", mirrors_exactly(2));
  CHECK(cluster.view() == "1: a1 b1");
  cluster.down(2);
  cluster.lead(1);
  CHECK(cluster.view() == "1: a1 c1?");
  cluster.up(2);
  CHECK(cluster.view() == "1: a1 c1?");
  // Who joins and is lost is followed at once.
  cluster.declare("filler", mirrors_nodes({"b"}));
  cluster.down(3);
  CHECK(cluster.view() == "1: a1 d1?");
  cluster.admit(4);
  cluster.up(3);
  CHECK(cluster.view() == "1: a1 d1");
}

TEST_CASE("exactly: who was a member and is back already comes before others") {
  Cluster cluster(3);
  cluster.declare("q", mirrors_exactly(2));
  cluster.declare("more", mirrors_nodes({"b"}));
  cluster.up(2);
  CHECK(cluster.view() == "1: a1 b1!");
  cluster.lead(1);
  CHECK(cluster.view() == "1: a1 b2?");
}

TEST_CASE("exactly: fewer are wanted, more are wanted, more than there are") {
  Cluster cluster(4);
  cluster.policy({{"ha-mode", std::string("exactly")}, {"ha-params", std::int64_t{4}}});
  cluster.declare("q", std::nullopt);
  cluster.evict(2);
  CHECK(cluster.view() == "1: a1 c1 d1 b1?");
  cluster.policy({{"ha-mode", std::string("exactly")}, {"ha-params", std::int64_t{2}}});
  CHECK(cluster.view() == "1: a1 c1");
  cluster.policy({{"ha-mode", std::string("exactly")}, {"ha-params", std::int64_t{9}}});
  CHECK(cluster.view() == "1: a1 c1 b1? d1?");
}

TEST_CASE("nodes: a master that is not among them hands over when all who are up are in sync") {
  Cluster cluster(4);
  cluster.declare("q", std::nullopt);
  cluster.down(4);
  cluster.policy(
      {{"ha-mode", std::string("nodes")}, {"ha-params", std::vector<std::string>{"c", "b", "d"}}});
  CHECK(cluster.view() == "1: a1 c1? b1?");
  cluster.admit(2);
  CHECK(cluster.view() == "1: a1 b1 c1?");
  cluster.admit(3);
  CHECK(cluster.view() == "2: c1 b1");
  cluster.up(4);
  CHECK(cluster.view() == "2: c1 b1 d2?");
  cluster.admit(4);
  // Of two in sync, one that is not wanted stays until the other's place is filled.
  cluster.policy(
      {{"ha-mode", std::string("nodes")}, {"ha-params", std::vector<std::string>{"a", "c"}}});
  CHECK(cluster.view() == "2: c1 b1 d2 a1?");
  cluster.admit(1);
  CHECK(cluster.view() == "2: c1 a1");
  // Nobody of them is there: all stays.
  cluster.policy(
      {{"ha-mode", std::string("nodes")}, {"ha-params", std::vector<std::string>{"x", "y"}}});
  CHECK(cluster.view() == "2: c1 a1");
}

TEST_CASE("a queue loses its wish and gains it again; epochs and revisions go on") {
  Cluster cluster(3);
  cluster.policy({{"ha-mode", std::string("all")}});
  cluster.declare("q", std::nullopt, 2);
  cluster.store.apply(TransferQueue{"/", "q", cluster.queue()->qid, NodeId{3}});
  CHECK(cluster.view() == "2: c1 b1 a1");
  const std::uint64_t revision = cluster.queue()->view->revision;
  cluster.no_policy();
  CHECK(cluster.view() == "on c");
  CHECK(cluster.queue()->epoch() == 0);
  CHECK(cluster.queue()->last_epoch == 2);
  cluster.policy({{"ha-mode", std::string("all")}});
  CHECK(cluster.view() == "3: c1 a1? b1?");
  CHECK(cluster.queue()->view->revision > revision);
  CHECK(cluster.queue()->view->members.front().joined == 1);
  CHECK(cluster.queue()->last_epoch == 0);
}

TEST_CASE("a wish comes and goes while the home is down") {
  Cluster cluster(2);
  cluster.declare("q", std::nullopt);
  cluster.down(1);
  cluster.policy({{"ha-mode", std::string("all")}});
  CHECK(cluster.view() == "1: a1!");
  cluster.no_policy();
  CHECK(cluster.view() == "on a");
  cluster.policy({{"ha-mode", std::string("all")}});
  CHECK(cluster.view() == "2: a1!");
  cluster.up(1);
  CHECK(cluster.view() == "3: a2 b1?");
  // Copies stay until who leads is certain.
  cluster.admit(2);
  cluster.down(1);
  cluster.no_policy();
  CHECK(cluster.view() == "4: b1 a2!");
  cluster.lead(2);
  CHECK(cluster.view() == "4: b1");
}

TEST_CASE("an argument's wish comes before the policy's") {
  Cluster cluster(3);
  cluster.policy({{"ha-mode", std::string("all")}});
  cluster.declare("q", mirrors_nodes({"a"}));
  CHECK(cluster.view() == "1: a1");
}

TEST_CASE("a majority is counted over the nodes that there are") {
  Cluster cluster(3);
  DeclareQueue command;
  command.record.vhost = "/";
  command.record.name = "q";
  command.record.home = NodeId{1};
  command.record.durable = true;
  command.record.options.type = QueueType::kQuorum;
  cluster.store.apply(command);
  CHECK(cluster.view() == "1: a1 b1");
  cluster.up(4);
  CHECK(cluster.view() == "1: a1 b1 c1?");
  cluster.down(4);
  cluster.store.apply(ForgetNode{NodeId{4}});
  CHECK(cluster.view() == "1: a1 b1");
}

namespace {

// A cluster that goes on by chance; every change is judged.
struct Walk {
  explicit Walk(unsigned seed) : random(seed), cluster(3) {}

  unsigned number(unsigned below) { return static_cast<unsigned>(random() % below); }
  std::uint32_t any_node() {
    std::vector<std::uint32_t> ids;
    cluster.store.for_each_node([&ids](const auto& node) { ids.push_back(node->id.value); });
    return ids[number(static_cast<unsigned>(ids.size()))];
  }
  std::string any_queue() { return "q" + std::to_string(number(5)); }

  Mirrors any_wish() {
    Mirrors wish;
    wish.mode = static_cast<MirrorMode>(number(4));
    wish.count = 1 + number(4);
    wish.nodes = {std::string(1, static_cast<char>('a' + number(5))),
                  std::string(1, static_cast<char>('a' + number(5)))};
    return wish;
  }

  void set_policy() {
    const Mirrors wish = any_wish();
    PolicyDefinition definition;
    if (wish.mode == MirrorMode::kNodes) {
      definition = {{"ha-mode", std::string("nodes")}, {"ha-params", wish.nodes}};
    } else if (wish.mode == MirrorMode::kExactly) {
      definition = {{"ha-mode", std::string("exactly")},
                    {"ha-params", static_cast<std::int64_t>(wish.count)}};
    } else {
      definition = {{"ha-mode", std::string("all")}};
    }
    cluster.policy(std::move(definition));
  }

  void change_views() {
    const auto record = cluster.queue(any_queue());
    if (record == nullptr || record->view == nullptr) return;
    const auto& members = record->view->members;
    const QueueMember member = members[number(static_cast<unsigned>(members.size()))];
    if (number(5) == 0) {
      cluster.store.apply(TransferQueue{"/", record->name, record->qid, member.node});
    } else if (member.in_sync && number(3) != 0) {
      cluster.lead(record->home.value);
    } else {
      cluster.change(member.in_sync ? ViewChangeKind::kEvict : ViewChangeKind::kAdmit,
                     member.node.value, record->name);
    }
  }

  void step() {
    const std::uint32_t node = any_node();
    switch (number(12)) {
      case 0:
        return cluster.up(node, static_cast<std::uint16_t>(1 + number(3)));
      case 1:
        return cluster.down(node);
      case 2:
        // A node that is down comes back as another, or another one comes.
        if (const auto old = cluster.store.node(NodeId{node}); !old->up && number(3) == 0) {
          cluster.store.apply(node_up(++last_id, ++cluster.boots, 2, old->name));
        } else if (number(4) == 0 && last_id < 60) {
          ++last_id;
          cluster.store.apply(node_up(last_id, ++cluster.boots, 2,
                                      std::string(1, static_cast<char>('a' + last_id % 5))));
        } else if (number(6) == 0) {
          cluster.store.apply(ForgetNode{NodeId{node}});
        }
        return;
      case 3:
      case 4:
        cluster.declare(any_queue(), number(2) == 0 ? std::optional(any_wish()) : std::nullopt,
                        node, number(3) != 0);
        return;
      case 5:
        if (number(3) == 0) {
          cluster.no_policy();
        } else {
          set_policy();
        }
        return;
      case 6:
        if (const auto record = cluster.queue(any_queue()); record != nullptr && number(3) == 0) {
          cluster.store.apply(DeleteQueue{"/", record->name, record->qid});
        }
        return;
      default:
        return change_views();
    }
  }

  using Records = std::map<std::uint64_t, std::shared_ptr<const QueueRecord>>;
  Records records() const {
    Records result;
    cluster.store.for_each_queue(
        [&result](const auto& record) { result[record->qid.value] = record; });
    return result;
  }

  std::mt19937 random;
  Cluster cluster;
  std::uint32_t last_id = 10;
};

// What holds of every view.
void check_shape(const QueueRecord& record, const Store& store) {
  const QueueView& view = *record.view;
  REQUIRE_FALSE(view.members.empty());
  CHECK(record.home == view.members.front().node);
  CHECK(record.shard == view.members.front().shard);
  CHECK(view.members.front().in_sync);
  CHECK((record.durable || !view.vacant()));
  CHECK_FALSE(record.exclusive());
  std::set<NodeId> seen;
  bool joining = false;
  for (const QueueMember& member : view.members) {
    CHECK(seen.insert(member.node).second);
    CHECK((!joining || !member.in_sync));
    joining = joining || !member.in_sync;
    CHECK(member.joined <= view.revision);
    const auto node = store.node(member.node);
    REQUIRE(node != nullptr);
    CHECK(member.shard.value < node->shards);
    if (member.ended) {
      CHECK(member.in_sync);
      CHECK((!node->up || node->life > member.life));
      CHECK(view.marked > 0);
      CHECK(view.marked <= store.last_mark());
      // Whoever can lead a queue that nobody leads does.
      if (view.vacant()) CHECK_FALSE(node->up);
    } else {
      CHECK(node->up);
      CHECK(node->life == member.life);
      if (member.in_sync) CHECK_FALSE(view.vacant());
    }
  }
}

// What holds of a change.
void check_change(const QueueRecord& before, const QueueRecord& after) {
  if (before.view == nullptr || after.view == nullptr) {
    if (before.view != nullptr) {
      CHECK(after.last_epoch >= before.view->epoch);
      CHECK(after.last_revision >= before.view->revision);
    } else if (after.view != nullptr) {
      CHECK(after.view->epoch > before.last_epoch);
      CHECK(after.view->revision > before.last_revision);
    }
    return;
  }
  const QueueView& was = *before.view;
  const QueueView& is = *after.view;
  if (was == is) return;
  CHECK(is.revision > was.revision);
  CHECK(is.epoch >= was.epoch);
  const QueueMember& old_master = was.members.front();
  const QueueMember& master = is.members.front();
  const bool same = old_master.node == master.node && old_master.life == master.life;
  if (!same && !master.ended) CHECK(is.epoch > was.epoch);
  // Nobody is in sync all at once but by admission, by return or as the first of a lost queue.
  std::size_t kept = 0;
  for (const QueueMember& member : was.members) {
    if (!member.in_sync) continue;
    kept += static_cast<std::size_t>(std::count_if(
        is.members.begin(), is.members.end(),
        [&member](const QueueMember& one) { return one.node == member.node && one.in_sync; }));
  }
  if (kept == 0) CHECK(is.epoch > was.epoch);  // its node has lost its disk
}

void check_steps(Walk& walk, const Walk::Records& before) {
  const auto after = walk.records();
  for (const auto& [qid, record] : after) {
    if (record->view != nullptr) check_shape(*record, walk.cluster.store);
    const auto old = before.find(qid);
    if (old != before.end()) check_change(*old->second, *record);
  }
}

// All nodes are up and say so, and all who join are admitted.
void come_to_rest(Walk& walk) {
  std::vector<std::uint32_t> ids;
  walk.cluster.store.for_each_node([&ids](const auto& node) { ids.push_back(node->id.value); });
  for (const std::uint32_t id : ids) {
    if (!walk.cluster.store.node(NodeId{id})->up) walk.cluster.up(id);
  }
  for (int round = 0; round < 30; ++round) {
    for (const std::uint32_t id : ids) walk.cluster.lead(id);
    for (const auto& [qid, record] : walk.records()) {
      if (record->view == nullptr) continue;
      for (const QueueMember& member : record->view->members) {
        if (!member.in_sync) walk.cluster.admit(member.node.value, record->name);
      }
    }
  }
}

// Where a queue at rest is, by name, when all nodes are up.
void check_wish(const QueueRecord& record, const Store& store) {
  const auto wish = wanted_mirrors(record.options, record.policy.get());
  CAPTURE(record.name);
  if (!wish) {
    CHECK((record.view == nullptr || record.view->members.front().joined > 1));
    return;
  }
  REQUIRE(record.view != nullptr);
  CHECK(record.view->led());
  std::set<std::string> here;
  for (const QueueMember& member : record.view->members) {
    CHECK(member.in_sync);
    here.insert(store.node(member.node)->name);
  }
  std::set<std::string> nodes;
  store.for_each_node([&nodes](const auto& node) { nodes.insert(node->name); });
  std::set<std::string> listed;
  for (const std::string& name : wish->nodes) {
    if (nodes.contains(name)) listed.insert(name);
  }
  switch (wish->mode) {
    case MirrorMode::kAll:
      CHECK(here == nodes);
      break;
    case MirrorMode::kNodes:
      if (!listed.empty()) CHECK(here == listed);
      break;
    case MirrorMode::kExactly:
      CHECK(here.size() == std::min<std::size_t>(nodes.size(), wish->count));
      break;
    case MirrorMode::kMajority:
      CHECK(here.size() == nodes.size() / 2 + 1);
      break;
  }
}

}  // namespace

TEST_CASE("by chance: views keep their shape, no whole copy is given up, all comes to rest") {
  for (unsigned seed = 1; seed <= 150; ++seed) {
    CAPTURE(seed);
    Walk walk(seed);
    for (int i = 0; i < 150; ++i) {
      const auto before = walk.records();
      walk.step();
      check_steps(walk, before);
    }
    come_to_rest(walk);
    for (const auto& [qid, record] : walk.records()) check_wish(*record, walk.cluster.store);
  }
}

TEST_CASE("by chance: a replica that begins with a snapshot goes on alike") {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    Walk walk(seed);
    KeptState kept(walk.cluster.store);
    Walk other(seed);
    for (int i = 0; i < 60; ++i) walk.step();
    auto saved = decode_state(flat(kept.snapshot(0)));
    REQUIRE(saved.ok());
    CHECK(encode(saved.value()) == text_of(walk.cluster.store));
    // It was somewhere else meanwhile.
    for (int i = 0; i < 25; ++i) other.step();
    other.cluster.store.restore(saved.value());
    CHECK(text_of(other.cluster.store) == text_of(walk.cluster.store));
    other.cluster.boots = walk.cluster.boots;
    other.last_id = walk.last_id;
    other.random = walk.random;
    for (int i = 0; i < 60; ++i) {
      walk.step();
      other.step();
      REQUIRE(text_of(other.cluster.store) == text_of(walk.cluster.store));
    }
  }
}

}  // namespace mirror_placement_test
