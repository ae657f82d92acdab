// A node that an operator makes go on without a majority of its cluster.
#include <doctest/doctest.h>

#include <string>

#include "tests/sim/cluster_machines.h"
#include "tests/sim/seeds.h"

namespace ringtail::sim::force_boot_test {

namespace {

void force(Cluster& cluster, std::uint32_t number) {
  runtime::SimEnv env(cluster.host(number));
  REQUIRE(cluster::set_force_boot(env.disk(), "/data").ok());
}

void go_on_alone(std::uint64_t seed) {
  CAPTURE(seed);
  Cluster cluster(seed, 3);
  cluster.start_all();
  REQUIRE(cluster.run_until([&] { return cluster.is_one(); }));
  CHECK(cluster.propose(1, queue("before", *cluster.node(3))).outcome == Outcome::kDone);
  for (std::uint32_t number = 1; number <= 3; ++number) cluster.crash(number);
  force(cluster, 3);
  cluster.start(3, cluster.together);
  // It may die while it begins; the next start goes on in the same way.
  cluster.world.run_for(cluster.world.rng().between(0, 200) * kMillisecondNs);
  cluster.crash(3);
  cluster.start(3, cluster.together);
  REQUIRE(cluster.run_until([&] { return cluster.is_one(); }));
  CHECK(cluster.node(3)->store(0).queue("/", "before") != nullptr);
  CHECK(cluster.propose(3, queue("alone", *cluster.node(3))).outcome == Outcome::kDone);
  // The others are of the generation before. They may be a majority of the former cluster, and are
  // kept apart from this one.
  cluster.start(1, cluster.together);
  cluster.start(2, cluster.together);
  cluster.world.run_for(20 * kSecondNs);
  CHECK(cluster.node(3)->control().holds_lease());
  CHECK(cluster.propose(3, queue("undisturbed", *cluster.node(3))).outcome == Outcome::kDone);
  CHECK(cluster.node(1)->control().metadata().store().queue("/", "alone") == nullptr);
  for (const std::uint32_t number : {1U, 2U}) {
    cluster.kill(number);
    runtime::SimEnv env(cluster.host(number));
    REQUIRE(env.disk().remove_tree("/data").ok());
  }
  for (const std::uint32_t number : {1U, 2U}) cluster.start(number, cluster.together);
  REQUIRE(cluster.run_until([&] { return cluster.is_one(); }));
  for (const char* name : {"before", "alone", "undisturbed"}) {
    CHECK(cluster.node(1)->store(1).queue("/", name) != nullptr);
  }
}

}  // namespace

TEST_CASE("a node goes on without the others, who come back as new ones alone") {
  for (std::uint64_t seed = first_seed(); seed < first_seed() + seeds(8); ++seed) {
    go_on_alone(seed);
  }
}

}  // namespace ringtail::sim::force_boot_test
