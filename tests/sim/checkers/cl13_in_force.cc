// CL13: a change that was answered is in force on every node that may act.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/sim/cluster_machines.h"
#include "tests/sim/seeds.h"

namespace ringtail::sim {

TEST_CASE("what one client was told every other one sees, through any node that holds a lease") {
  for (std::uint64_t seed = first_seed(); seed < first_seed() + seeds(10); ++seed) {
    CAPTURE(seed);
    Cluster cluster(seed, 3);
    cluster.start_all();
    REQUIRE(cluster.run_until([&] { return cluster.is_one(); }));
    runtime::SimRng rng(seed);
    for (int round = 0; round < 40; ++round) {
      // One that is slow, or gone for a while, holds the answer up and is not left behind.
      const auto slow = static_cast<std::uint32_t>(rng.between(1, 3));
      auto& paths = cluster.world.network().paths();
      if (rng.chance(0.3)) paths.isolate(cluster.host(slow));
      cluster.host(slow).drive().options().sync_max_ns = rng.between(1, 300) * kMillisecondNs;
      const auto number = static_cast<std::uint32_t>(rng.between(1, 3));
      const std::string name = "q" + std::to_string(round);
      const auto result = cluster.propose(number, queue(name, *cluster.node(number)));
      if (result.outcome == Outcome::kDone) {
        for (std::uint32_t other = 1; other <= 3; ++other) {
          if (!cluster.node(other)->control().holds_lease()) continue;
          CHECK(cluster.node(other)->store(0).queue("/", name) != nullptr);
          CHECK(cluster.node(other)->store(1).queue("/", name) != nullptr);
        }
      }
      paths.heal_all();
    }
    CHECK(cluster.run_until([&] { return cluster.is_one(); }, 120));
  }
}

}  // namespace ringtail::sim
