// CL14: nodes that are up vote; those that stopped in order do not, so that the last one goes on.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/sim/cluster_machines.h"
#include "tests/sim/seeds.h"

namespace ringtail::sim {

TEST_CASE("stopped one after the other, the last one goes on; started in any order they are one") {
  for (std::uint64_t seed = first_seed(); seed < first_seed() + seeds(12); ++seed) {
    CAPTURE(seed);
    Cluster cluster(seed, 3);
    cluster.start_all();
    REQUIRE(cluster.run_until([&] { return cluster.is_one(); }));
    std::vector<std::uint32_t> order = {1, 2, 3};
    for (std::size_t i = 2; i > 0; --i) {
      std::swap(order[i], order[cluster.world.rng().between(0, i)]);
    }
    for (std::size_t i = 0; i < 3; ++i) {
      CAPTURE(i);
      const std::uint32_t number = order[i];
      cluster.node(number)->stop();
      REQUIRE(cluster.run_until([&] { return cluster.node(number)->stopped(); }));
      cluster.kill(number);
      if (i == 2) break;
      const std::uint32_t left = order[2];
      const std::string name = "q" + std::to_string(i);
      CHECK(cluster.propose(left, queue(name, *cluster.node(left))).outcome == Outcome::kDone);
    }
    for (std::size_t i = 2; i > 0; --i) {
      std::swap(order[i], order[cluster.world.rng().between(0, i)]);
    }
    for (const std::uint32_t number : order) {
      cluster.start(number, cluster.together);
      cluster.world.run_for(cluster.world.rng().between(0, 2000) * kMillisecondNs);
    }
    REQUIRE(cluster.run_until([&] { return cluster.is_one(); }));
    CHECK(cluster.node(1)->store(0).queue("/", "q0") != nullptr);
    CHECK(cluster.node(1)->store(0).queue("/", "q1") != nullptr);
  }
}

TEST_CASE("a node alone is a cluster of one, and stays it through its starts") {
  Cluster cluster(1, 1);
  cluster.start(1, {});
  REQUIRE(cluster.run_until([&] { return cluster.is_one(); }));
  CHECK(cluster.propose(1, queue("q", *cluster.node(1))).outcome == Outcome::kDone);
  const auto id = cluster.node(1)->control().identity().cluster;
  cluster.crash(1);
  cluster.start(1, {});
  REQUIRE(cluster.run_until([&] { return cluster.is_one(); }));
  CHECK(cluster.node(1)->control().identity().cluster == id);
  CHECK(cluster.node(1)->store(0).queue("/", "q") != nullptr);
  CHECK(cluster.node(1)->store(0).node(cluster.node(1)->id())->life == 2);
}

}  // namespace ringtail::sim
