// CL5: what one side has forgotten of a session is never mixed with what the other still has.
#include <doctest/doctest.h>

#include "tests/sim/link_cluster.h"
#include "tests/sim/seeds.h"

namespace cl5_ended_pairs {

using namespace ringtail;
using namespace ringtail::sim;
using runtime::kSecondNs;

TEST_CASE("links: a pair of lives that has ended does not come back") {
  LinkCluster cluster(5, {2, 2});
  cluster.all_up();
  for (int i = 0; i < 20; ++i) cluster.talk(100);
  REQUIRE(cluster.world.run_until([&] { return cluster.all_arrived(); }));
  LinkNode& a = *cluster.nodes[0];
  a.down(node_id(1));
  cluster.world.run_for(kSecondNs);
  CHECK(a.shard(0).life_of(node_id(1)) == 0);
  a.up(cluster.nodes[1]->as_peer(1));  // where the other side still has its half of the sessions
  cluster.world.run_for(5 * kSecondNs);
  CHECK(a.shard(0).life_of(node_id(1)) == 0);
  CHECK_FALSE(a.hub().directory().is_up(node_id(1)));
  const std::uint64_t received = cluster.counts.received;
  for (int i = 0; i < 20; ++i) cluster.talk(100);
  cluster.world.run_for(5 * kSecondNs);
  CHECK(cluster.counts.received == received);
  // A new life of either does.
  a.set_life(2);
  cluster.nodes[1]->up(a.as_peer(2));
  a.up(cluster.nodes[1]->as_peer(1));
  cluster.world.run_for(5 * kSecondNs);
  cluster.counts = {};
  for (int i = 0; i < 20; ++i) cluster.talk(100);
  REQUIRE(cluster.world.run_until([&] { return cluster.all_arrived(); }));
  CHECK(cluster.counts.sent > 0);
  cluster.check();
}

}  // namespace cl5_ended_pairs
