// Owners of the metadata on several nodes over one log, which loses, repeats and delays what it is
// given, as long as a test wants it to.
#include "cluster/metadata/owner.h"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "broker/runtime/limits.h"
#include "broker/runtime/sim/sim_shard.h"
#include "tests/unit/cluster/saved_fixture.h"

namespace owner_test {

using namespace ringtail;
using namespace ringtail::cluster::metadata;

namespace {

constexpr std::uint16_t kShards = 3;
const runtime::ShardId kControl{kShards};

struct World;

// Proposes, and notes the answers and what every shard knew when they came.
struct Client final : runtime::Actor {
  Client(World& of, runtime::Shard& on, runtime::Address to)
      : world(of), shard(on), owner(to), self(on.add(*this)) {}
  ~Client() override { shard.remove(self.actor); }
  void propose(std::uint64_t request, Command command, bool patient = false) {
    auto letter = std::make_unique<Propose>();
    letter->request = request;
    letter->patient = patient;
    letter->command = std::move(command);
    shard.post(self, owner, std::move(letter));
  }
  void await_in_force(std::uint64_t request) {
    auto letter = std::make_unique<AwaitInForce>();
    letter->request = request;
    shard.post(self, owner, std::move(letter));
  }
  void receive(runtime::LetterPtr letter) noexcept override;

  World& world;
  runtime::Shard& shard;
  const runtime::Address owner;
  const runtime::Address self;
  std::map<std::uint64_t, CommandResult> results;
};

struct Node final : ProposalLog, LifeWatcher {
  Node(World& of, std::uint32_t number);
  void submit(std::string proposal) override;
  void applied_here(std::uint64_t index) override;
  void life_begun(const NodeRecord&) override { ++lives; }
  void life_ended() override {
    ++ends;
    ask_for_life();
  }
  void own_node_forgotten() override { forgotten = true; }
  void ask_for_life() {
    NodeRecord record;
    record.id = id;
    record.name = "n" + std::to_string(id.value);
    record.host = "h";
    record.shards = kShards;
    record.boot = ++boots;
    owner->begin_life(record);
  }

  World& world;
  const runtime::NodeId id;
  runtime::SimHost host;
  runtime::SimNode node;
  std::unique_ptr<Owner> owner;
  std::vector<std::unique_ptr<Service>> services;
  std::vector<std::unique_ptr<Client>> clients;
  std::uint64_t next = 1;  // of the log, to be applied
  std::uint64_t applied = 0;
  std::uint64_t boots = 0;
  int lives = 0;
  int ends = 0;
  bool forgotten = false;
};

// All nodes and the log, which is a vector.
struct World {
  explicit World(std::uint64_t seed, std::uint32_t count) : sim(seed), random(seed) {
    for (std::uint32_t i = 1; i <= count; ++i) nodes.push_back(std::make_unique<Node>(*this, i));
  }
  ~World() {
    for (auto& one : nodes) {
      one->clients.clear();
      one->services.clear();
      one->owner.reset();
    }
  }
  void append(const std::string& proposal) {
    log.push_back(proposal);
    terms.push_back(term);
  }
  void deliver(Node& to, std::uint64_t up_to) {
    to.node.driver(kShards).run([&] {
      for (; to.next <= up_to; ++to.next) {
        REQUIRE(to.owner->commit(to.next, terms[to.next - 1], log[to.next - 1]).ok());
      }
    });
  }
  // Everybody gets what there is, from time to time a part of it.
  void pump() {
    for (auto& one : nodes) {
      if (stopped.contains(one->id)) continue;
      const std::uint64_t rest = log.size() + 1 - one->next;
      if (rest > 0) deliver(*one, one->next + (whole ? rest : random() % (rest + 1)) - 1);
    }
    std::uint64_t everywhere = log.size();
    for (auto& one : nodes) {
      if (!stopped.contains(one->id)) everywhere = std::min(everywhere, one->applied);
    }
    for (auto& one : nodes) {
      one->node.driver(kShards).run([&] { one->owner->applied_everywhere(everywhere); });
    }
  }
  bool run_until(const std::function<bool()>& condition, int rounds = 4000) {
    for (int i = 0; i < rounds; ++i) {
      if (condition()) return true;
      pump();
      sim.run_for(10 * runtime::kMillisecondNs);
    }
    return condition();
  }
  bool start() {
    for (auto& one : nodes) {
      one->node.driver(kShards).run([&] {
        one->ask_for_life();
        one->owner->publish([] {});
      });
    }
    return run_until([&] {
      return std::all_of(nodes.begin(), nodes.end(),
                         [](const auto& one) { return one->owner->life() != 0; });
    });
  }

  runtime::SimWorld sim;
  std::mt19937_64 random;
  std::vector<std::string> log;
  std::vector<std::uint64_t> terms;  // of its entries
  std::uint64_t term = 1;
  std::set<runtime::NodeId> stopped;  // they get nothing of the log
  double loss = 0;
  double repeat = 0;
  bool whole = true;
  bool check_in_force = true;
  std::vector<std::unique_ptr<Node>> nodes;
};

void Client::receive(runtime::LetterPtr letter) noexcept {
  auto& proposed = runtime::letter_cast<Proposed>(*letter);
  CHECK(results.emplace(proposed.request, proposed.result).second);
  if (!world.check_in_force || proposed.result.queue == nullptr) return;
  // It is in force on every shard of every node that counts, or has been deleted since.
  const QueueRecord& record = *proposed.result.queue;
  for (auto& one : world.nodes) {
    if (world.stopped.contains(one->id)) continue;
    for (auto& service : one->services) {
      CHECK(service->store().save().next_qid > record.qid.value);
    }
  }
}

Node::Node(World& of, std::uint32_t number)
    : world(of), id{number}, host(of.sim), node(host, id, kShards + 1) {
  node.driver(kShards).run(
      [&] { owner = std::make_unique<Owner>(node.shard(kShards), kShards, *this, *this); });
  for (std::uint16_t i = 0; i < kShards; ++i) {
    node.driver(i).run([&] {
      services.push_back(std::make_unique<Service>(node.shard(i), kControl));
      clients.push_back(std::make_unique<Client>(world, node.shard(i), services[i]->owner()));
    });
  }
}

void Node::submit(std::string proposal) {
  const auto chance = [this](double p) {
    return static_cast<double>(world.random() % 1000) < p * 1000;
  };
  if (chance(world.loss)) return;
  world.append(proposal);
  if (chance(world.repeat)) {
    // Later, too, behind whatever comes in between.
    world.sim.after((world.random() % 3000) * runtime::kMillisecondNs, runtime::SimEventKind::kWork,
                    [&to = world, proposal] { to.append(proposal); });
  }
}

void Node::applied_here(std::uint64_t index) {
  CHECK(index >= applied);
  applied = index;
}

DeclareQueue queue(const std::string& name, std::uint32_t home) {
  DeclareQueue command;
  command.record.vhost = "/";
  command.record.name = name;
  command.record.durable = true;
  command.record.home = runtime::NodeId{home};
  return command;
}

void propose(Node& node, std::size_t shard, std::uint64_t request, Command command,
             bool patient = false) {
  node.node.driver(shard).run(
      [&] { node.clients[shard]->propose(request, std::move(command), patient); });
}

void await_in_force(Node& node, std::size_t shard, std::uint64_t request) {
  node.node.driver(shard).run([&] { node.clients[shard]->await_in_force(request); });
}

}  // namespace

TEST_CASE("an answered change is in force on every shard of every node") {
  World world(1, 2);
  REQUIRE(world.start());
  Node& a = *world.nodes[0];
  propose(a, 1, 7, queue("q", 2));
  world.sim.run_for(50 * runtime::kMillisecondNs);
  // It lies in the log, and nobody has applied it.
  CHECK(a.clients[1]->results.empty());
  world.deliver(a, world.log.size());
  world.sim.run_for(50 * runtime::kMillisecondNs);
  CHECK(a.services[0]->store().queue("/", "q") != nullptr);
  CHECK(world.nodes[1]->services[0]->store().queue("/", "q") == nullptr);
  CHECK(a.clients[1]->results.empty());  // the other node has not applied it
  REQUIRE(world.run_until([&] { return a.clients[1]->results.contains(7); }));
  CHECK(a.clients[1]->results[7].outcome == Outcome::kDone);
  CHECK(a.clients[1]->results[7].queue->home == runtime::NodeId{2});
  CHECK(world.nodes[1]->services[2]->store().queue("/", "q") != nullptr);
}

TEST_CASE("what a replica knows already is in force when every node has it") {
  World world(2, 2);
  REQUIRE(world.start());
  Node& a = *world.nodes[0];
  propose(a, 1, 1, queue("q", 2));
  world.sim.run_for(50 * runtime::kMillisecondNs);
  world.deliver(a, world.log.size());
  world.sim.run_for(1000 * runtime::kMillisecondNs);
  const auto known = a.services[2]->store().queue("/", "q");
  REQUIRE(known != nullptr);
  CHECK(!a.services[2]->in_force(known->qid));
  await_in_force(a, 2, 2);
  world.sim.run_for(1000 * runtime::kMillisecondNs);
  CHECK(a.clients[2]->results.empty());
  REQUIRE(world.run_until([&] { return a.clients[2]->results.contains(2); }));
  CHECK(a.clients[2]->results[2].outcome == Outcome::kUnchanged);
  CHECK(world.nodes[1]->services[0]->store().queue("/", "q") != nullptr);
  REQUIRE(world.run_until([&] { return a.services[2]->in_force(known->qid); }));
  // Nothing is under way: there is nothing to wait for.
  await_in_force(a, 2, 3);
  world.sim.run_for(runtime::kMillisecondNs);
  CHECK(a.clients[2]->results.contains(3));
}

TEST_CASE("waiting until something is in force everywhere has an end") {
  World world(7, 2);
  REQUIRE(world.start());
  Node& a = *world.nodes[0];
  propose(a, 0, 1, queue("q", 1));
  propose(a, 0, 2, queue("patient", 1), true);
  world.sim.run_for(50 * runtime::kMillisecondNs);
  // All is agreed on; what the other node has is not heard any more.
  world.deliver(a, world.log.size());
  await_in_force(a, 1, 3);
  world.sim.run_for((runtime::kProposalTimeoutMs - 500) * runtime::kMillisecondNs);
  CHECK(a.clients[0]->results.empty());
  world.sim.run_for(1000 * runtime::kMillisecondNs);
  REQUIRE(a.clients[0]->results.contains(1));
  REQUIRE(a.clients[1]->results.contains(3));
  CHECK(a.clients[0]->results[1].outcome == Outcome::kUnavailable);
  CHECK(a.clients[1]->results[3].outcome == Outcome::kUnavailable);
  REQUIRE(world.run_until([&] { return a.clients[0]->results.contains(2); }));
  CHECK(a.clients[0]->results[2].outcome == Outcome::kDone);
}

TEST_CASE("what is lost is proposed again, what comes twice counts once, answers come in order") {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    CAPTURE(seed);
    World world(seed, 3);
    world.loss = 0.3;
    world.repeat = 0.3;
    world.whole = false;
    REQUIRE(world.start());
    std::uint64_t request = 0;
    std::map<std::uint64_t, Client*> asked;
    for (int round = 0; round < 200; ++round) {
      Node& node = *world.nodes[world.random() % 3];
      const std::size_t shard = world.random() % kShards;
      // Names are never used twice, so each that counted twice would be seen.
      const std::string name = "q" + std::to_string(++request);
      asked[request] = node.clients[shard].get();
      propose(node, shard, request, queue(name, node.id.value), true);
      if (world.random() % 4 == 0) world.pump();
      world.sim.run_for((world.random() % 20) * runtime::kMillisecondNs);
    }
    REQUIRE(world.run_until([&] {
      return std::all_of(asked.begin(), asked.end(),
                         [](const auto& one) { return one.second->results.contains(one.first); });
    }));
    world.whole = true;
    world.loss = 0;
    world.run_until([&] { return false; }, 400);
    for (const auto& [number, client] : asked) {
      CHECK(client->results[number].outcome == Outcome::kDone);
    }
    const std::string all = text_of(world.nodes[0]->owner->store());
    for (auto& one : world.nodes) {
      CHECK(text_of(one->owner->store()) == all);
      for (auto& service : one->services) {
        CHECK(service->store().queue_count("/") == request);
        CHECK(service->store().version() == one->services[0]->store().version());
      }
    }
  }
}

TEST_CASE("without a majority a proposal is given up in bounded time; a patient one is not") {
  World world(3, 2);
  REQUIRE(world.start());
  Node& a = *world.nodes[0];
  world.loss = 1;
  propose(a, 0, 1, queue("given up", 1));
  propose(a, 0, 2, queue("patient", 1), true);
  propose(a, 0, 3, queue("given up too", 1));
  const std::uint64_t before = world.sim.now_ns();
  REQUIRE(world.run_until([&] { return a.clients[0]->results.size() == 2; }));
  CHECK(world.sim.now_ns() - before <
        (runtime::kProposalTimeoutMs + 500) * runtime::kMillisecondNs);
  CHECK(a.clients[0]->results[1].outcome == Outcome::kUnavailable);
  CHECK(a.clients[0]->results[3].outcome == Outcome::kUnavailable);
  world.loss = 0;
  propose(a, 0, 4, queue("later", 1));
  REQUIRE(world.run_until([&] { return a.clients[0]->results.size() == 4; }));
  CHECK(a.clients[0]->results[2].outcome == Outcome::kDone);
  CHECK(a.clients[0]->results[4].outcome == Outcome::kDone);
  CHECK(a.owner->store().queue("/", "given up") == nullptr);
}

TEST_CASE("a node that was declared down proposes what it has again in its next life, once") {
  World world(4, 2);
  REQUIRE(world.start());
  Node& a = *world.nodes[0];
  Node& b = *world.nodes[1];
  world.stopped.insert(b.id);
  const Life life = b.owner->life();
  propose(b, 0, 1, queue("before", 2), true);  // is in the log, in front of its end
  world.sim.run_for(20 * runtime::kMillisecondNs);
  propose(a, 0, 2, NodeDown{b.id, life, false});
  world.sim.run_for(20 * runtime::kMillisecondNs);
  propose(b, 0, 3, queue("behind", 2), true);  // is in the log behind it, and does not count
  world.sim.run_for(20 * runtime::kMillisecondNs);
  REQUIRE(world.run_until([&] { return a.clients[0]->results.contains(2); }));
  CHECK(a.owner->store().queue("/", "before") != nullptr);
  CHECK(a.owner->store().queue("/", "behind") == nullptr);
  world.stopped.clear();
  REQUIRE(world.run_until([&] { return b.clients[0]->results.size() == 2; }));
  CHECK(b.ends == 1);
  CHECK(b.lives == 2);
  CHECK(b.owner->life() == life + 1);
  CHECK(b.clients[0]->results[1].outcome == Outcome::kDone);
  CHECK(b.clients[0]->results[3].outcome == Outcome::kDone);
  CHECK(text_of(a.owner->store()) == text_of(b.owner->store()));
}

TEST_CASE("a leader's verdict counts in its own term, however late it comes into the log") {
  World world(6, 2);
  REQUIRE(world.start());
  Node& a = *world.nodes[0];
  Node& b = *world.nodes[1];
  const Life life = b.owner->life();
  world.term = 5;
  propose(a, 0, 1, NodeDown{b.id, life, false, 4});
  REQUIRE(world.run_until([&] { return a.clients[0]->results.contains(1); }));
  CHECK(a.clients[0]->results[1].outcome == Outcome::kUnavailable);
  CHECK(b.owner->life() == life);
  CHECK(a.services[0]->store().node(b.id)->up);
  CHECK(text_of(a.owner->store()) == text_of(b.owner->store()));
  propose(a, 0, 2, NodeDown{b.id, life, false, 5});
  REQUIRE(world.run_until([&] { return a.clients[0]->results.contains(2); }));
  CHECK(a.clients[0]->results[2].outcome == Outcome::kDone);
  REQUIRE(world.run_until([&] { return b.owner->life() == life + 1; }));
}

namespace {

DeclareQueue mirrored(const std::string& name, std::uint32_t home) {
  DeclareQueue command = queue(name, home);
  command.record.options.mirrors = Mirrors{};
  return command;
}

std::size_t attestations(const World& world) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> numbers;  // node, request
  for (const std::string& bytes : world.log) {
    const auto proposal = decode_proposal(bytes);
    REQUIRE(proposal.ok());
    std::uint64_t number = proposal.value().first_request;
    for (const Command& command : proposal.value().commands) {
      if (std::holds_alternative<LeadQueues>(command)) {
        numbers.emplace(proposal.value().node.value, number);
      }
      ++number;
    }
  }
  return numbers.size();
}

const QueueView& view_at(const Node& node, const std::string& name) {
  const auto record = node.owner->store().queue("/", name);
  REQUIRE(record != nullptr);
  REQUIRE(record->view != nullptr);
  return *record->view;
}

}  // namespace

TEST_CASE("who leads in the place of a life that ended says so, once, whatever is lost") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    World world(seed, 3);
    REQUIRE(world.start());
    Node& a = *world.nodes[0];
    Node& c = *world.nodes[2];
    for (std::uint64_t i = 1; i <= 5; ++i) propose(a, 0, i, mirrored("q" + std::to_string(i), 3));
    REQUIRE(world.run_until([&] { return a.clients[0]->results.size() == 5; }));
    CHECK(attestations(world) == 0);
    world.loss = 0.5;
    world.repeat = 0.3;
    world.stopped.insert(c.id);
    const Life life = c.owner->life();
    propose(a, 0, 6, NodeDown{c.id, life, false}, true);
    REQUIRE(world.run_until([&] { return a.clients[0]->results.contains(6); }));
    for (std::uint64_t i = 1; i <= 5; ++i) {
      const std::string name = "q" + std::to_string(i);
      REQUIRE(world.run_until([&] { return view_at(a, name).led(); }));
      CHECK(view_at(a, name).members.size() == 2);
      CHECK(view_at(a, name).epoch == 2);
    }
    CHECK(attestations(world) == 1);
    // It comes back, and nobody has to say anything.
    world.stopped.clear();
    REQUIRE(world.run_until([&] { return c.owner->life() == life + 1; }));
    REQUIRE(world.run_until([&] { return view_at(a, "q1").members.size() == 3; }));
    CHECK(view_at(a, "q1").led());
    CHECK(attestations(world) == 1);
    // A second end, a second time.
    world.stopped.insert(c.id);
    for (std::uint64_t i = 1; i <= 2; ++i) {
      const auto record = a.owner->store().queue("/", "q" + std::to_string(i));
      propose(a, 1, 10 + i,
              ChangeView{"/", record->name, record->qid, record->view->epoch,
                         record->view->revision, ViewChangeKind::kAdmit, c.id, life + 1},
              true);
    }
    REQUIRE(world.run_until([&] { return a.clients[1]->results.size() == 2; }));
    CHECK(view_at(a, "q1").members.back().in_sync);
    propose(a, 0, 7, NodeDown{c.id, life + 1, false}, true);
    REQUIRE(world.run_until([&] { return a.clients[0]->results.contains(7); }));
    REQUIRE(world.run_until([&] { return view_at(a, "q1").led() && view_at(a, "q2").led(); }));
    CHECK(attestations(world) == 2);
  }
}

TEST_CASE("a node that comes back to lead says so in its new life") {
  World world(9, 3);
  REQUIRE(world.start());
  Node& a = *world.nodes[0];
  Node& b = *world.nodes[1];
  propose(a, 0, 1, mirrored("q", 2));
  REQUIRE(world.run_until([&] { return a.clients[0]->results.contains(1); }));
  // All three end. a and b are there at once in their next lives, c is not.
  world.stopped.insert(world.nodes[2]->id);
  for (std::uint32_t id = 1; id <= 3; ++id) {
    propose(a, 0, 1 + id, NodeDown{runtime::NodeId{id}, 1, false}, true);
  }
  REQUIRE(world.run_until([&] { return a.owner->life() == 2 && b.owner->life() == 2; }));
  REQUIRE(world.run_until([&] {
    const QueueView& view = view_at(a, "q");
    return !view.vacant() && view.led() && view.members.size() == 2;
  }));
  const QueueView& view = view_at(a, "q");
  CHECK(view.members.front().life == 2);
  CHECK_FALSE(view.members.back().in_sync);
  CHECK(text_of(a.owner->store()) == text_of(b.owner->store()));
}

TEST_CASE("a node that was far behind gets a snapshot, and so do its shards") {
  World world(5, 2);
  REQUIRE(world.start());
  Node& a = *world.nodes[0];
  Node& b = *world.nodes[1];
  propose(a, 0, 1, queue("old", 2));
  REQUIRE(world.run_until([&] { return a.clients[0]->results.contains(1); }));
  world.stopped.insert(b.id);
  for (std::uint64_t i = 2; i < 50; ++i) propose(a, 0, i, queue("q" + std::to_string(i), 2));
  propose(a, 0, 50, DeleteQueue{"/", "old", a.owner->store().queue("/", "old")->qid});
  REQUIRE(world.run_until([&] { return a.clients[0]->results.contains(50); }));
  b.node.driver(kShards).run([&] {
    REQUIRE(b.owner->restore(flat(a.owner->snapshot())).ok());
    b.next = world.log.size() + 1;
  });
  world.stopped.clear();
  propose(b, 2, 51, queue("new", 1));
  REQUIRE(world.run_until([&] { return b.clients[2]->results.contains(51); }));
  CHECK(text_of(a.owner->store()) == text_of(b.owner->store()));
  for (auto& service : b.services) {
    CHECK(service->store().queue("/", "old") == nullptr);
    CHECK(service->store().queue("/", "q49") != nullptr);
    CHECK(service->store().queue_count("/") == 49);
  }
}

TEST_CASE("a node reads in the log, or in a snapshot, that it is forgotten, and asks for no life") {
  for (const bool snapshot : {false, true}) {
    CAPTURE(snapshot);
    World world(7, 2);
    REQUIRE(world.start());
    Node& a = *world.nodes[0];
    Node& b = *world.nodes[1];
    world.stopped.insert(b.id);
    propose(a, 0, 1, NodeDown{b.id, b.owner->life(), false});
    propose(a, 0, 2, ForgetNode{b.id});
    REQUIRE(world.run_until([&] { return a.clients[0]->results.contains(2); }));
    CHECK(a.clients[0]->results[2].outcome == Outcome::kDone);
    CHECK_FALSE(b.forgotten);
    if (snapshot) {
      b.node.driver(kShards).run(
          [&] { REQUIRE(b.owner->restore(flat(a.owner->snapshot())).ok()); });
    } else {
      world.deliver(b, world.log.size());
    }
    CHECK(b.forgotten);
    CHECK(b.owner->life() == 0);
    const std::size_t before = world.log.size();
    world.sim.run_for(10'000 * runtime::kMillisecondNs);
    CHECK(world.log.size() == before);
    CHECK_FALSE(a.forgotten);
  }
}

TEST_CASE("an entry that this version does not understand is no crash") {
  World world(6, 1);
  Node& a = *world.nodes[0];
  a.node.driver(kShards).run([&] {
    CHECK(a.owner->commit(1, 1, "\xff\xff").code() == runtime::Code::kCorrupt);
    CHECK(a.owner->restore("\xff\xff").code() == runtime::Code::kCorrupt);
  });
}

}  // namespace owner_test
