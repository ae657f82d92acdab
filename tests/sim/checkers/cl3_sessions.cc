// CL3: within a pair of lives letters are neither lost nor doubled nor reordered.
#include <doctest/doctest.h>

#include "tests/sim/link_cluster.h"
#include "tests/sim/seeds.h"

namespace cl3_sessions {

using namespace ringtail;
using namespace ringtail::sim;
using runtime::kMillisecondNs;

TEST_CASE("links: letters arrive once and in order, whatever happens to connections") {
  const std::uint64_t last = first_seed() + seeds(30);
  for (std::uint64_t seed = first_seed(); seed < last; ++seed) {
    CAPTURE(seed);
    LinkCluster cluster(seed, random_layout(seed));
    make_trouble(cluster.world);
    cluster.all_up();
    for (int step = 0; step < 300; ++step) {
      cluster.talk(cluster.world.rng().chance(0.05) ? 300'000 : 2000);
      cluster.world.run_for(cluster.world.rng().below(3 * kMillisecondNs));
    }
    cluster.world.network().options().reset = 0;
    cluster.world.network().options().refuse = 0;
    REQUIRE(cluster.world.run_until([&] { return cluster.all_arrived(); }));
    CHECK(cluster.counts.sent > 100);
    cluster.check();
  }
}

TEST_CASE("links: nor what happens to the ways between hosts, and to processes that stand still") {
  const std::uint64_t last = first_seed() + seeds(30);
  for (std::uint64_t seed = first_seed(); seed < last; ++seed) {
    CAPTURE(seed);
    LinkCluster cluster(seed, random_layout(seed));
    make_trouble(cluster.world);
    cluster.all_up();
    runtime::SimRng& rng = cluster.world.rng();
    for (int step = 0; step < 200; ++step) {
      cluster.talk(rng.chance(0.05) ? 300'000 : 2000);
      // Some of it lasts longer than a link waits for an acknowledgement.
      const std::uint64_t longest = rng.chance(0.03) ? 30'000 : 50;
      cluster.world.run_for(rng.below(longest * kMillisecondNs));
      if (rng.chance(0.1)) cluster.disturb();
    }
    cluster.world.network().options().reset = 0;
    cluster.world.network().options().refuse = 0;
    cluster.calm();
    REQUIRE(
        cluster.world.run_until([&] { return cluster.all_arrived(); }, 300 * runtime::kSecondNs));
    CHECK(cluster.counts.sent > 100);
    cluster.check();
  }
}

}  // namespace cl3_sessions
