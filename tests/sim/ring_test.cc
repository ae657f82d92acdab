// The life of a ring under chance (ring_world.h).
#include <doctest/doctest.h>

#include "tests/sim/ring_world.h"
#include "tests/sim/seeds.h"

namespace ring_test {

using namespace ringtail::sim;

TEST_CASE("a ring keeps what it has committed, whatever happens to its members") {
  std::uint64_t commits = 0;
  for (std::uint64_t seed = first_seed(); seed < first_seed() + seeds(300); ++seed) {
    CAPTURE(seed);
    RingWorld world(seed, 2 + static_cast<std::uint32_t>(seed % 4));
    for (int i = 0; i < 4000; ++i) world.step();
    REQUIRE(world.settle());
    CHECK(world.diverged == 0);
    commits += world.commits;
  }
  CHECK(commits > 0);
}

}  // namespace ring_test
