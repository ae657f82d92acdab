// CL15: nodes that join get the log, then a life, then a vote.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/sim/cluster_machines.h"
#include "tests/sim/seeds.h"

namespace ringtail::sim {

TEST_CASE("nodes join one after the other, and see what was before them") {
  Cluster cluster(3, 5);
  cluster.start(1, {});
  REQUIRE(cluster.run_until([&] { return cluster.is_one(); }));
  CHECK(cluster.propose(1, queue("first", *cluster.node(1))).outcome == Outcome::kDone);
  SimClusterOptions join;
  for (std::uint32_t i = 2; i <= 5; ++i) {
    CAPTURE(i);
    // Through the one before, which does not lead.
    join.join = {{ClusterNode::host_of(i - 1), kClusterPort}};
    cluster.start(i, join);
    REQUIRE(cluster.run_until([&] { return cluster.is_one(); }));
    CHECK(cluster.node(i)->store(1).queue("/", "first") != nullptr);
    const std::string name = "q" + std::to_string(i);
    CHECK(cluster.propose(i, queue(name, *cluster.node(1))).outcome == Outcome::kDone);
    // An answered change is in force everywhere at once.
    for (std::uint32_t other = 1; other <= i; ++other) {
      CHECK(cluster.node(other)->store(0).queue("/", name) != nullptr);
      CHECK(cluster.node(other)->store(1).queue("/", name) != nullptr);
    }
  }
  CHECK(cluster.run_until([&] {
    const auto members = cluster.node(1)->control().raft().members();
    return std::all_of(members.begin(), members.end(), [](const auto& server) {
      return server.role == cluster::raft::Role::kVoter;
    });
  }));
}

static void replace_a_disk(std::uint64_t seed) {
  Cluster cluster(seed, 4);
  cluster.start(1, {});
  SimClusterOptions join;
  join.join = {{ClusterNode::host_of(1), kClusterPort}};
  cluster.start(2, join);
  cluster.start(3, join);
  REQUIRE(cluster.run_until([&] { return cluster.is_one(); }));
  CHECK(cluster.propose(1, queue("of 3", *cluster.node(3))).outcome == Outcome::kDone);
  const auto former = cluster.node(3)->id();
  cluster.kill(3);
  {
    runtime::SimEnv env(cluster.host(3));
    REQUIRE(env.disk().remove_tree("/data").ok());
  }
  cluster.start(3, join);
  REQUIRE(cluster.run_until([&] { return cluster.is_one(); }));
  CHECK(cluster.node(3)->id() != former);
  const auto record = cluster.node(1)->store(0).queue("/", "of 3");
  REQUIRE(record != nullptr);
  CHECK(record->home == cluster.node(3)->id());
  CHECK(cluster.run_until([&] { return cluster.node(1)->control().raft().members().size() == 3; },
                          120));
}

TEST_CASE("a name is given once; a node that lost its disk takes the place of the former one") {
  for (std::uint64_t seed = first_seed(); seed < first_seed() + seeds(6); ++seed) {
    CAPTURE(seed);
    replace_a_disk(seed);
  }
}

}  // namespace ringtail::sim
