// CL11: while a node holds a lease, nobody has declared its life to be over.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/sim/cluster_machines.h"
#include "tests/sim/seeds.h"

namespace ringtail::sim {

TEST_CASE("a node that is cut off knows that its lease is over before others say that it is down") {
  for (std::uint64_t seed = first_seed(); seed < first_seed() + seeds(15); ++seed) {
    CAPTURE(seed);
    Cluster cluster(seed, 3 + static_cast<std::uint32_t>(seed % 3));
    cluster.start_all();
    REQUIRE(cluster.run_until([&] { return cluster.is_one(); }));
    runtime::SimRng rng(seed);
    int declared = 0;
    for (int round = 0; round < 6; ++round) {
      auto& paths = cluster.world.network().paths();
      auto& host = cluster.host(static_cast<std::uint32_t>(rng.between(1, cluster.size())));
      if (rng.chance(0.5)) {
        paths.isolate(host);
      } else {
        // It hears the others, and they do not hear it; or the other way round.
        for (std::uint32_t other = 1; other <= cluster.size(); ++other) {
          if (&cluster.host(other) == &host) continue;
          if (seed % 2 == 0) {
            paths.cut(host, cluster.host(other));
          } else {
            paths.cut(cluster.host(other), host);
          }
        }
      }
      for (std::uint64_t step = rng.between(50, 500); step > 0; --step) {
        cluster.world.run_for(10 * kMillisecondNs);
        declared += cluster.check_leases();
      }
      paths.heal_all();
      cluster.world.run_for(rng.between(0, 3000) * kMillisecondNs);
    }
    CHECK(declared > 0);  // it has come to that
    CHECK(cluster.run_until([&] { return cluster.is_one(); }, 120));
  }
}

}  // namespace ringtail::sim
