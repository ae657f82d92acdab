// CL4: the end of a life is told to every shard in its place.
#include <doctest/doctest.h>

#include "tests/sim/link_cluster.h"
#include "tests/sim/seeds.h"

namespace cl4_end_of_life {

using namespace ringtail;
using namespace ringtail::sim;
using cluster::NodeLife;
using runtime::kMillisecondNs;
using runtime::kSecondNs;

TEST_CASE("links: the end of a life comes behind its last letter and before the next one's first") {
  const std::uint64_t last = first_seed() + seeds(40);
  std::uint64_t received = 0;
  for (std::uint64_t seed = first_seed(); seed < last; ++seed) {
    CAPTURE(seed);
    LinkCluster cluster(seed, random_layout(seed));
    make_trouble(cluster.world);
    runtime::SimRng& rng = cluster.world.rng();
    cluster.all_up();
    // What each node is to hear of each other one, in order, some time.
    for (int step = 0; step < 500; ++step) {
      cluster.talk(rng.chance(0.05) ? 100'000 : 1000);
      cluster.world.run_for(rng.below(2 * kMillisecondNs));
      if (!rng.chance(0.03)) continue;
      const std::size_t ended = rng.below(cluster.size());
      const NodeLife life = ++cluster.lives[ended];
      // A process that has died, or one that was only taken for dead.
      if (rng.chance(0.5)) cluster.start(ended);
      for (std::size_t other = 0; other < cluster.size(); ++other) {
        if (rng.chance(0.5)) cluster.world.run_for(rng.below(2 * kMillisecondNs));
        if (other == ended) {
          cluster.nodes[ended]->set_life(life);
          for (std::size_t peer = 0; peer < cluster.size(); ++peer) {
            if (peer == ended) continue;
            cluster.nodes[ended]->up(cluster.nodes[peer]->as_peer(cluster.lives[peer]));
          }
          continue;
        }
        if (rng.chance(0.5)) cluster.nodes[other]->down(node_id(ended));
        if (rng.chance(0.5)) cluster.talk(1000);
        cluster.nodes[other]->up(cluster.nodes[ended]->as_peer(life));
      }
    }
    cluster.world.network().options().reset = 0;
    cluster.world.network().options().refuse = 0;
    cluster.world.run_for(10 * kSecondNs);
    cluster.check();
    // Everybody reaches everybody again.
    cluster.counts = {};
    for (int i = 0; i < 50; ++i) cluster.talk(100);
    REQUIRE(cluster.world.run_until([&] { return cluster.all_arrived(); }));
    CHECK(cluster.counts.sent > 50);
    cluster.check();
    received += cluster.counts.received;
  }
  CHECK(received > 0);
}

}  // namespace cl4_end_of_life
