// Random traffic over random topologies, by seeds. A failure names its seed; run that one alone by
// changing the bounds of the loop.
#include "tests/sim/traffic.h"

#include <doctest/doctest.h>

namespace traffic_test {

using ringtail::sim::Traffic;
using ringtail::sim::TrafficOptions;

namespace {

void run_seeds(std::uint64_t first, std::uint64_t last, const TrafficOptions& options) {
  std::uint64_t delivered = 0;
  std::uint64_t lost = 0;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    INFO("seed " << seed);
    Traffic traffic(seed, options);
    traffic.run();
    delivered += traffic.messages_delivered();
    lost += traffic.connections_lost();
  }
  MESSAGE(delivered << " deliveries, " << lost << " lost connections");
  CHECK(delivered > 50 * (last - first + 1));  // the scenario does something
  if (options.resets) CHECK(lost > last - first);
}

}  // namespace

TEST_CASE("random traffic") { run_seeds(1, 120, {}); }

TEST_CASE("random traffic with rare branches taken") { run_seeds(1001, 1040, {.buggify = true}); }

TEST_CASE("random traffic with connections that break") { run_seeds(2001, 2120, {.resets = true}); }

TEST_CASE("random traffic through queues with options") {
  run_seeds(3001, 3060, {.queue_options = true});
  run_seeds(4001, 4060, {.resets = true, .queue_options = true});
}

TEST_CASE("the same seed is the same run") {
  for (const bool resets : {false, true}) {
    std::uint64_t digests[3];
    for (int run = 0; run < 3; ++run) {
      Traffic traffic(run < 2 ? 77 : 78, {.resets = resets});
      traffic.run();
      digests[run] = traffic.digest();
    }
    CHECK(digests[0] == digests[1]);
    CHECK(digests[0] != digests[2]);
  }
}

}  // namespace traffic_test
