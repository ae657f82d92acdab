// CL16: listed nodes begin one cluster, never two.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/sim/cluster_machines.h"
#include "tests/sim/seeds.h"

namespace ringtail::sim {

TEST_CASE("listed nodes begin as one cluster, in any order, never two") {
  for (std::uint64_t seed = first_seed(); seed < first_seed() + seeds(20); ++seed) {
    CAPTURE(seed);
    Cluster cluster(seed, 2 + static_cast<std::uint32_t>(seed % 4));
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 1; i <= cluster.size(); ++i) order.push_back(i);
    for (std::size_t i = order.size() - 1; i > 0; --i) {
      std::swap(order[i], order[cluster.world.rng().between(0, i)]);
    }
    for (const std::uint32_t number : order) {
      cluster.start(number, cluster.together);
      cluster.world.run_for(cluster.world.rng().between(0, seed % 2 * 3000) * kMillisecondNs);
    }
    REQUIRE(cluster.run_until([&] { return cluster.is_one(); }));
    for (std::uint32_t i = 2; i <= cluster.size(); ++i) {
      CHECK(cluster.node(i)->control().identity().cluster ==
            cluster.node(1)->control().identity().cluster);
    }
  }
}

}  // namespace ringtail::sim
