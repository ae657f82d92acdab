// The management interface of a node that has others beside it: what it lists of them and of their
// queues, also when they go or keep silent, and what it says when no majority agrees.
#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "broker/base64.h"
#include "broker/http/router.h"
#include "broker/http/routes.h"
#include "tests/sim/sim_peers.h"

namespace http_cluster_test {

using namespace ringtail;
using namespace ringtail::sim;
using broker::BrokerShard;
using broker::Json;
using broker::http::Request;
using broker::http::Response;
using cluster::metadata::Command;
using cluster::metadata::NodeDown;
using cluster::metadata::NodeRecord;
using cluster::metadata::NodeUp;
using cluster::metadata::Outcome;
using runtime::kSecondNs;
using runtime::NodeId;
using runtime::SimHost;
using runtime::SimWorld;

namespace {

constexpr std::uint64_t kGatewayTimeoutNs = 10 * kSecondNs;

// Where threads would wait, the world runs on.
class SimGateway final : public broker::Gateway {
 public:
  SimGateway(SimWorld& world, BrokerNode& node) : world_(world), node_(node) {}
  std::uint16_t shards() const override { return static_cast<std::uint16_t>(node_.shards()); }
  runtime::Status on_shard(runtime::ShardId shard,
                           const std::function<void(BrokerShard&)>& call) override {
    node_.run_on_shard(shard.value, [&] { call(node_.shard(shard.value)); });
    return {};
  }
  runtime::Status on_shard_later(
      runtime::ShardId shard,
      const std::function<void(BrokerShard&, std::function<void()>)>& call) override {
    const auto done = std::make_shared<bool>(false);
    node_.run_on_shard(shard.value,
                       [&] { call(node_.shard(shard.value), [done] { *done = true; }); });
    if (world_.run_until([&] { return *done; }, kGatewayTimeoutNs)) return {};
    return {runtime::Code::kTimeout, "the shard did not answer in time"};
  }

 private:
  SimWorld& world_;
  BrokerNode& node_;
};

// A client of that node's management, who is an administrator.
struct Management {
  Management(SimWorld& world, BrokerNode& node, const std::string& name) : gateway(world, node) {
    config.node_name = name;
    config.data_dir = "/";
    facts.config = &config;
    broker::http::add_routes(router);
  }
  Response ask(const std::string& method, const std::string& target, const std::string& body = "") {
    Request request;
    request.method = method;
    REQUIRE(broker::http::read_target("/api" + target, request));
    request.body = body;
    request.peer = "127.0.0.1";
    request.peer_is_loopback = true;
    request.headers["authorization"] = "Basic " + broker::base64_encode("guest:guest");
    return router.answer(request, 1000);
  }
  Json get(const std::string& target) {
    const Response response = ask("GET", target);
    REQUIRE_MESSAGE(response.status == 200, response.body);
    return Json::parse(response.body);
  }
  Json node(const std::string& name) { return get("/nodes/" + name); }

  runtime::Config config;
  broker::http::NodeFacts facts;
  SimGateway gateway;
  broker::http::Router router{gateway, facts};
};

// Two nodes; the first is asked. A queue on each, with a message in the second's.
struct Two {
  Two()
      : world(3),
        peers(world),
        host(world),
        far_host(world),
        node(host, 2, {}, NodeId{11}),
        far(far_host, 2, {}, NodeId{22}),
        management(world, node, "sim11@localhost") {
    peers.link({&node, &far});
    peers.declare("near", node);
    far_queue = peers.declare("far", far);
    AmqpClient client(host);
    client.connect();
    REQUIRE(client.await_open());
    REQUIRE(client.open_channel(1));
    client.publish(1, "", "far", "x");
    REQUIRE(client.close());
    settle();
    REQUIRE(peers.process(*far_queue)->stats().messages_ready == 1);
  }
  void settle() { REQUIRE(world.run_until_idle()); }

  SimWorld world;
  SimPeers peers;
  SimHost host;
  SimHost far_host;
  BrokerNode node;
  BrokerNode far;
  Management management;
  std::shared_ptr<const cluster::metadata::QueueRecord> far_queue;
};

// A node that is alone with its metadata, and a made-up one beside it.
struct One {
  One() : world(5), host(world), node(host, 1, {}, NodeId{11}) {}
  Outcome propose(const Command& command) {
    Outcome outcome = Outcome::kUnavailable;
    bool done = false;
    node.run_on_shard(0, [&] {
      node.shard(0).propose(command, [&](const cluster::metadata::CommandResult& result) {
        outcome = result.outcome;
        done = true;
      });
    });
    REQUIRE(world.run_until([&] { return done; }));
    return outcome;
  }

  SimWorld world;
  SimHost host;
  BrokerNode node;
  Management management{world, node, "sim11@localhost"};
};

}  // namespace

TEST_CASE("nodes and queues of the whole cluster are listed") {
  Two t;
  const Json nodes = t.management.get("/nodes");
  REQUIRE(nodes.size() == 2);
  CHECK(nodes[0]["name"] == "sim11@localhost");
  CHECK(nodes[0].contains("os_pid"));
  CHECK(nodes[1] == Json({{"name", "sim22@localhost"},
                          {"type", "disc"},
                          {"running", true},
                          {"being_drained", false},
                          {"partitions", Json::array()},
                          {"cluster_links", Json::array()}}));
  CHECK(t.management.node("sim22@localhost") == nodes[1]);
  CHECK(t.management.ask("GET", "/nodes/sim33@localhost").status == 404);
  CHECK(t.management.node("sim22@localhost/memory")["memory"] == "not_available");
  CHECK(t.management.ask("GET", "/nodes/sim33@localhost/memory").status == 404);

  for (const char* target : {"/queues", "/queues/%2F"}) {
    const Json queues = t.management.get(target);
    REQUIRE(queues.size() == 2);
    CHECK(queues[0]["name"] == "far");
    CHECK(queues[0]["node"] == "sim22@localhost");
    CHECK(queues[0]["state"] == "running");
    CHECK(queues[0]["messages"] == 1);
    CHECK(queues[1]["name"] == "near");
    CHECK(queues[1]["node"] == "sim11@localhost");
    CHECK(queues[1]["messages"] == 0);
  }
  const std::uint64_t letters = t.peers.letters();
  CHECK_FALSE(t.management.get("/queues?disable_stats=true")[0].contains("messages"));
  CHECK(t.peers.letters() == letters);  // nobody was asked for what is not shown
  CHECK(t.management.get("/queues/%2F/far")["node"] == "sim22@localhost");
  CHECK(t.management.get("/overview")["object_totals"]["queues"] == 2);
  CHECK(t.management.get("/definitions")["queues"].size() == 2);
  CHECK(t.management.get("/vhosts/%2F")["cluster_state"] ==
        Json({{"sim11@localhost", "running"}, {"sim22@localhost", "running"}}));
  CHECK_FALSE(t.management.get("/health/checks/node-is-quorum-critical").contains("reason"));
  CHECK(t.management.ask("GET", "/healthchecks/node/sim22@localhost").status == 400);
}

TEST_CASE("a node that is not reached is down, and so are its queues") {
  Two t;
  t.peers.cut();
  t.settle();
  CHECK(t.management.node("sim22@localhost")["running"] == false);
  const Json far = t.management.get("/queues")[0];
  CHECK(far["name"] == "far");
  CHECK(far["state"] == "down");
  CHECK(far["durable"] == true);
  CHECK_FALSE(far.contains("messages"));
  CHECK(t.management.get("/queues/%2F/far")["state"] == "down");
  CHECK(t.management.get("/healthchecks/node/sim22@localhost")["reason"] == "nodedown");
  CHECK(t.management.get("/vhosts/%2F")["cluster_state"].size() == 1);
  const auto record = t.node.shard(0).view().node(t.far.id());
  t.peers.apply(NodeDown{record->id, record->life});
  CHECK(t.management.get("/queues").size() == 2);
  t.peers.join();
  t.settle();
  // Its links stand, but its life is over until it begins another.
  CHECK(t.management.node("sim22@localhost")["running"] == false);
}

TEST_CASE("a node that keeps silent does not hold up a list") {
  Two t;
  t.peers.set_delay_ns(60 * kSecondNs);
  const Json queues = t.management.get("/queues");
  REQUIRE(queues.size() == 2);
  CHECK(queues[0]["state"] == "running");
  CHECK_FALSE(queues[0].contains("messages"));
  CHECK(queues[1]["messages"] == 0);
}

TEST_CASE("a queue that is declared over HTTP lives on the node that was asked") {
  One t;
  CHECK(t.management.ask("PUT", "/queues/%2F/q", R"({"durable":true})").status == 201);
  const auto queue = t.node.shard(0).view().queue("/", "q");
  REQUIRE(queue != nullptr);
  CHECK(queue->home == t.node.id());
  CHECK(t.management.get("/aliveness-test/%2F")["status"] == "ok");
  CHECK(t.management
            .ask("POST", "/definitions/%2F",
                 R"({"queues":[{"name":"r","durable":true,"auto_delete":false,"arguments":{}}]})")
            .status == 204);
  CHECK(t.node.shard(0).view().queue("/", "r") != nullptr);
}

TEST_CASE("a node that is down is forgotten on request") {
  One t;
  const std::string path = "/nodes/gone@localhost";
  CHECK(t.management.ask("DELETE", path).status == 404);
  NodeRecord gone{NodeId{33}, "gone@localhost", "127.0.0.1", 1, 1};
  gone.boot = 7;
  REQUIRE(t.propose(NodeUp{gone}) == Outcome::kDone);
  const Response runs = t.management.ask("DELETE", path);
  CHECK(runs.status == 400);
  CHECK(Json::parse(runs.body)["reason"] == "node gone@localhost is running: stop it first");
  t.propose(NodeDown{gone.id, 1});
  CHECK(t.management.get("/nodes").size() == 2);
  CHECK(t.management.ask("DELETE", path).status == 204);
  CHECK(t.management.get("/nodes").size() == 1);
  CHECK(t.management.ask("DELETE", path).status == 404);
  const Response self = t.management.ask("DELETE", "/nodes/sim11@localhost");
  CHECK(self.status == 400);
  CHECK(Json::parse(self.body)["reason"].get<std::string>().find("is the one that was asked") !=
        std::string::npos);
}

TEST_CASE("without an agreement a change is 503, whatever it is") {
  One t;
  t.host.drive().options().sync_min_ns = 30 * kSecondNs;
  t.host.drive().options().sync_max_ns = 31 * kSecondNs;
  struct Change {
    const char* method;
    const char* target;
    const char* body;
  };
  for (const Change& change :
       {Change{"PUT", "/vhosts/v", "{}"}, Change{"PUT", "/queues/%2F/q", "{}"},
        Change{"DELETE", "/users/guest", ""},
        Change{"POST", "/definitions", R"({"vhosts":[{"name":"w"}]})"}}) {
    const Response response = t.management.ask(change.method, change.target, change.body);
    CHECK_MESSAGE(response.status == 503, change.target);
    const Json json = Json::parse(response.body);
    CHECK(json["error"] == "service_unavailable");
    CHECK(json["reason"] ==
          "the cluster has not agreed in time: this node reaches no majority of it");
  }
}

}  // namespace http_cluster_test
