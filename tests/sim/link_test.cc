// What the links do at the edges: congestion, letters that cannot travel, half-open connections.
#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "cluster/link_limits.h"
#include "tests/sim/link_cluster.h"

namespace link_test {

using namespace ringtail;
using namespace ringtail::sim;
using runtime::kMillisecondNs;
using runtime::kSecondNs;
using runtime::NodeId;

TEST_CASE("links: a peer that is slower than its senders is congested until it has caught up") {
  LinkCluster cluster(1, {1, 1});
  cluster.all_up();
  LinkNode& a = *cluster.nodes[0];
  cluster.world.run_for(kSecondNs);
  a.on_shard(0, [&] {
    for (int i = 0; i < 80; ++i) a.shard(0).talk(0, node_id(1), 0, 0, 1024 * 1024);
  });
  cluster.world.run_for(kMillisecondNs);
  CHECK(a.shard(0).congested(node_id(1)));
  CHECK(a.shard(0).bus().kept_for(node_id(1)) > cluster::kKeptHighMark);
  REQUIRE(cluster.world.run_until([&] { return !a.shard(0).congested(node_id(1)); }));
  CHECK(a.shard(0).bus().kept_for(node_id(1)) <= cluster::kKeptLowMark);
  REQUIRE(cluster.world.run_until([&] { return cluster.all_arrived(); }));
  cluster.world.run_for(kSecondNs);
  CHECK(a.shard(0).bus().kept_for(node_id(1)) == 0);
  cluster.check();
}

TEST_CASE("links: letters without a codec, to no node and to no shard are dropped") {
  LinkCluster cluster(1, {1, 1});
  cluster.all_up();
  cluster.world.run_for(kSecondNs);
  LinkNode& a = *cluster.nodes[0];
  a.on_shard(0, [&] {
    runtime::Shard& shard = a.node().shard(0);
    const runtime::Address own{a.id(), runtime::ShardId{0}, LinkShard::actor(0)};
    const runtime::Address there{node_id(1), runtime::ShardId{0}, LinkShard::actor(0)};
    struct Local final : runtime::Letter {
      Local() : Letter(kLocalTalk) {}
    };
    shard.post(own, there, std::make_unique<Local>());
    shard.post(own, {NodeId{99}, {}, LinkShard::actor(0)}, std::make_unique<Talk>());
    shard.post(own, {node_id(1), runtime::ShardId{77}, {}}, std::make_unique<Talk>());
    a.shard(0).talk(0, node_id(1), 0, 0, 10);
  });
  cluster.world.run_for(kSecondNs);
  CHECK(cluster.counts.received == 1);
  cluster.check();
}

TEST_CASE("links: a peer is reached at its new address") {
  LinkCluster cluster(1, {1, 1});
  LinkNode& a = *cluster.nodes[0];
  LinkNode& b = *cluster.nodes[1];
  a.set_life(1);
  b.set_life(1);
  cluster::PeerNode wrong = b.as_peer(1);
  wrong.addresses = {{"10.0.0.77", LinkNode::kPort}};
  a.up(wrong);
  b.up(a.as_peer(1));
  cluster.world.run_for(kSecondNs);
  a.on_shard(0, [&] { a.shard(0).talk(0, node_id(1), 0, 0, 10); });
  cluster.world.run_for(5 * kSecondNs);
  CHECK(cluster.counts.received == 0);
  a.up(b.as_peer(1));
  REQUIRE(cluster.world.run_until([&] { return cluster.all_arrived(); }, kSecondNs));
  cluster.check();
}

TEST_CASE("links: a half-open connection is made again, and nothing is lost") {
  LinkCluster cluster(1, {1, 1});
  cluster.all_up();
  cluster.world.run_for(kSecondNs);
  LinkNode& a = *cluster.nodes[0];
  const auto talk = [&] { a.on_shard(0, [&] { a.shard(0).talk(0, node_id(1), 0, 0, 10); }); };
  talk();
  REQUIRE(cluster.world.run_until([&] { return cluster.all_arrived(); }));
  // Acknowledgements are lost for ever; what goes there arrives.
  cluster.world.network().paths().cut(*cluster.hosts[1], *cluster.hosts[0]);
  talk();
  cluster.world.run_for(5 * kSecondNs);
  CHECK(cluster.counts.received == 2);
  CHECK(a.shard(0).bus().kept_for(node_id(1)) > 0);
  CHECK(a.shard(0).bus().is_linked(node_id(1)));
  cluster.world.run_for(cluster::kAcknowledgeTimeoutMs * kMillisecondNs);
  CHECK_FALSE(a.shard(0).bus().is_linked(node_id(1)));
  cluster.world.network().paths().heal_all();
  talk();
  REQUIRE(cluster.world.run_until([&] { return cluster.all_arrived(); }, 10 * kSecondNs));
  cluster.world.run_for(kSecondNs);
  CHECK(a.shard(0).bus().kept_for(node_id(1)) == 0);
  cluster.check();
}

}  // namespace link_test
