// A node that is killed, or loses its power, at any time while clients declare: whatever a client
// was answered for is there when the node runs again.
#include <doctest/doctest.h>

#include <map>
#include <set>

#include "tests/sim/sim_broker.h"

namespace metadata_test {

using namespace ringtail;
using namespace ringtail::sim;

namespace {

// What one client knows: names whose last answered command made them (true) or removed them. One
// whose command was not answered may be either.
class Declarer {
 public:
  Declarer(runtime::SimHost& host, int number) : client_(host), number_(number) {}

  void open() {
    client_.connect();
    if (!client_.await_open()) return;
    open_ = client_.open_channel(1);
  }
  // Sends the next command when the last was answered.
  void act(runtime::SimRng& rng) {
    if (!open_) return;
    client_.poll();
    take_answer();
    if (!waiting_.empty()) return;
    const std::string name =
        "q" + std::to_string(number_) + "-" + std::to_string(rng.between(0, 7));
    waiting_ = name;
    if (rng.chance(0.3)) {
      wanted_ = false;
      client_.send(1, amqp::QueueDelete{.queue = name});
    } else {
      wanted_ = true;
      client_.send(1, amqp::QueueDeclare{.queue = name, .durable = true, .arguments = {}});
    }
    uncertain.insert(name);
  }

  std::map<std::string, bool> known;
  std::set<std::string> uncertain;

 private:
  void take_answer() {
    ServerFrame frame;
    if (client_.take<amqp::QueueDeclareOk>(1, frame) ||
        client_.take<amqp::QueueDeleteOk>(1, frame)) {
      known[waiting_] = wanted_;
      uncertain.erase(waiting_);
      waiting_.clear();
    }
  }

  AmqpClient client_;
  const int number_;
  bool open_ = false;
  std::string waiting_;
  bool wanted_ = false;
};

}  // namespace

TEST_CASE("what clients were answered for outlives the end of the node") {
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    CAPTURE(seed);
    runtime::SimWorld world(seed);
    world.set_buggify(true);
    runtime::SimHost host(world);
    std::map<std::string, bool> known;
    std::set<std::string> uncertain;
    std::uint64_t highest_qid = 0;
    for (int life = 0; life < 4; ++life) {
      CAPTURE(life);
      BrokerNode node(host, static_cast<std::uint16_t>(1 + seed % 3));
      const auto& view = node.shard(0).view();
      for (const auto& [name, exists] : known) {
        if (uncertain.contains(name)) continue;
        const auto record = view.queue("/", name);
        CHECK_MESSAGE((record != nullptr) == exists, name);
      }
      CHECK(node.queues() == view.queue_count("/"));
      // The default user and vhost were made once, and are what they were.
      REQUIRE(view.user("guest") != nullptr);
      CHECK(view.permission("/", "guest") != nullptr);

      std::vector<std::unique_ptr<Declarer>> clients;
      for (int i = 0; i < 3; ++i) {
        clients.push_back(std::make_unique<Declarer>(host, i));
        clients.back()->open();
      }
      const std::uint64_t end = world.now_ns() + world.rng().between(0, 300) * 1000 * 1000;
      while (world.now_ns() < end && world.step()) {
        for (auto& client : clients) client->act(world.rng());
      }
      view.for_each_queue([&](const auto& record) {
        if (record->qid.value > highest_qid) highest_qid = record->qid.value;
      });
      for (auto& client : clients) {
        for (const auto& [name, exists] : client->known) {
          known[name] = exists;
          uncertain.erase(name);
        }
        uncertain.insert(client->uncertain.begin(), client->uncertain.end());
      }
      if (world.rng().chance(0.5)) host.drive().crash();
    }
    CHECK(highest_qid > 0);
  }
}

TEST_CASE("a node whose disk fails declares nothing any more") {
  runtime::SimWorld world(3);
  runtime::SimHost host(world);
  BrokerNode node(host, 2);
  AmqpClient client(host);
  client.connect();
  REQUIRE(client.await_open());
  REQUIRE(client.open_channel(1));
  REQUIRE(client.open_channel(2));
  REQUIRE(world.run_until_idle());  // the journals make their next files ready
  host.drive().fail_call(runtime::SimDiskCall::kSync, 1, runtime::Code::kIo);
  client.send(1, amqp::QueueDeclare{.queue = "durable", .durable = true, .arguments = {}});
  ServerFrame frame;
  CHECK_FALSE(client.await<amqp::QueueDeclareOk>(1, frame));
  CHECK_FALSE(node.lost().ok());
  CHECK_FALSE(client.declare(2, "transient"));  // the process ends
}

}  // namespace metadata_test
