// Nodes that die while they begin or join a cluster, and nodes that leave one for good.
#include <doctest/doctest.h>

#include <string>

#include "cluster/identity.h"
#include "tests/sim/cluster_machines.h"
#include "tests/sim/seeds.h"

namespace ringtail::sim::join_test {

namespace {

bool has_joined(Cluster& cluster, std::uint32_t number) {
  runtime::SimEnv env(cluster.host(number));
  const auto identity = cluster::read_identity(env.disk(), "/data");
  return identity.ok() && identity.value().has_cluster();
}

// It has been told that it has joined, and knows nothing of the cluster but its number.
void die_after_joining(std::uint64_t seed, std::uint64_t away_s, bool joins) {
  CAPTURE(seed);
  CAPTURE(away_s);
  Cluster cluster(seed, 3);
  SimClusterOptions options = cluster.together;
  if (joins) {
    options.listed.clear();
    options.join = {{ClusterNode::host_of(1), kClusterPort},
                    {ClusterNode::host_of(2), kClusterPort}};
  }
  cluster.start(1, joins ? SimClusterOptions{} : cluster.together);
  cluster.start(2, options);
  REQUIRE(cluster.run_until([&] { return cluster.is_one(); }));
  cluster.start(3, options);
  REQUIRE(cluster.run_until([&] { return has_joined(cluster, 3); }));
  REQUIRE(cluster.node(3)->control().raft().members().empty());
  cluster.crash(3);
  cluster.world.run_for(away_s * kSecondNs);
  // It may be the one that it was told of that is gone meanwhile.
  if (away_s > 0) cluster.crash(1);
  if (away_s > 0) cluster.start(1, joins ? SimClusterOptions{} : cluster.together);
  cluster.start(3, options);
  REQUIRE(cluster.run_until([&] { return cluster.is_one(); }));
  CHECK(cluster.propose(3, queue("there", *cluster.node(3))).outcome == Outcome::kDone);
}

}  // namespace

TEST_CASE("a node that dies as soon as it has joined joins again") {
  for (std::uint64_t seed = first_seed(); seed < first_seed() + seeds(8); ++seed) {
    // Short; and so long that the cluster does not wait for it any more.
    die_after_joining(seed, seed % 2 == 0 ? 0 : 90, seed % 4 < 2);
  }
}

TEST_CASE("a node that dies while it begins its cluster begins it again") {
  for (std::uint64_t after_us = 0; after_us < 30'000; after_us += 500) {
    CAPTURE(after_us);
    Cluster cluster(1 + after_us, 1);
    cluster.start(1, {});
    cluster.world.run_for(after_us * runtime::kMicrosecondNs);
    if (after_us % 1000 == 0) {
      cluster.kill(1);
    } else {
      cluster.crash(1);
    }
    cluster.start(1, {});
    REQUIRE(cluster.run_until([&] { return cluster.is_one(); }));
  }
}

TEST_CASE("a node that is to be forgotten hears that it is") {
  for (std::uint64_t seed = first_seed(); seed < first_seed() + seeds(40); ++seed) {
    CAPTURE(seed);
    Cluster cluster(seed, 3);
    cluster.start_all();
    REQUIRE(cluster.run_until([&] { return cluster.is_one(); }));
    const auto gone = static_cast<std::uint32_t>(1 + seed % 3);
    cluster.node(gone)->stop();
    REQUIRE(cluster.run_until([&] { return cluster.node(gone)->stopped(); }));
    cluster.kill(gone);
    SimClusterOptions retires;
    retires.retires = true;
    cluster.start(gone, retires);
    REQUIRE(cluster.run_until([&] { return cluster.node(gone)->retired(); }, 10));
    const std::uint32_t other = gone % 3 + 1;
    REQUIRE(cluster.run_until(
        [&] { return cluster.node(other)->control().raft().members().size() == 2; }, 10));
  }
}

TEST_CASE("a node that has joined and knows nobody says so") {
  Cluster cluster(1, 2);
  cluster.start(1, {});
  SimClusterOptions options;
  options.join = {{ClusterNode::host_of(1), kClusterPort}};
  REQUIRE(cluster.run_until([&] { return cluster.is_one(); }));
  cluster.start(2, options);
  REQUIRE(cluster.run_until([&] { return has_joined(cluster, 2); }));
  cluster.crash(2);
  cluster.start(2, {});
  REQUIRE(cluster.run_until([&] { return !cluster.node(2)->ended().ok(); }));
  CHECK(cluster.node(2)->ended().text().find("--join") != std::string::npos);
}

TEST_CASE("a node that has lost its identity and not its log says so, and begins nothing") {
  for (const std::uint32_t machines : {1U, 3U}) {
    CAPTURE(machines);
    Cluster cluster(1, machines);
    cluster.start_all();
    REQUIRE(cluster.run_until([&] { return cluster.is_one(); }));
    cluster.kill(1);
    REQUIRE(runtime::SimEnv(cluster.host(1)).disk().remove(cluster::identity_path("/data")).ok());
    for (int start = 0; start < 2; ++start) {
      cluster.start(1, cluster.together);
      REQUIRE(cluster.run_until([&] { return !cluster.node(1)->ended().ok(); }));
      CHECK(cluster.node(1)->ended().text().find("has lost its identity (/data/node)") !=
            std::string::npos);
      cluster.kill(1);
    }
  }
}

TEST_CASE("a node that has stopped and not yet ended takes nobody in") {
  Cluster cluster(1, 2);
  cluster.start(1, {});
  REQUIRE(cluster.run_until([&] { return cluster.is_one(); }));
  cluster.node(1)->stop();
  REQUIRE(cluster.run_until([&] { return cluster.node(1)->stopped(); }));
  SimClusterOptions options;
  options.join = {{ClusterNode::host_of(1), kClusterPort}};
  cluster.start(2, options);
  cluster.world.run_for(5 * kSecondNs);
  CHECK_FALSE(cluster.node(2)->serves());
  CHECK(cluster.node(2)->ended().ok());
}

}  // namespace ringtail::sim::join_test
