// CL6: large control messages hold no small one up.
#include <doctest/doctest.h>

#include "tests/sim/link_cluster.h"
#include "tests/sim/seeds.h"

namespace cl6_bulk {

using namespace ringtail;
using namespace ringtail::sim;
using runtime::kMillisecondNs;

TEST_CASE("control: a snapshot of any size delays no heartbeat") {
  TwoNodes two;
  two.world.network().options().kernel_buffer_min = 64 * 1024;
  two.world.network().options().kernel_buffer_max = 128 * 1024;
  two.link();
  REQUIRE(two.connected());
  const std::string snapshot(30 * 1024 * 1024, 's');
  CHECK(two.send(1, "snapshot", snapshot));
  std::vector<std::uint64_t> sent_ns;
  const auto snapshot_there = [&] {
    return !two.b->messages.empty() && two.b->messages.back().kind == 1;
  };
  for (int i = 0; i < 20; ++i) {
    two.world.run_for(2 * kMillisecondNs);
    REQUIRE_FALSE(snapshot_there());
    sent_ns.push_back(two.world.now_ns());
    CHECK(two.send(2, std::to_string(i)));
  }
  REQUIRE(two.world.run_until(snapshot_there));
  REQUIRE(two.b->messages.size() == 21);
  for (std::size_t i = 0; i < 20; ++i) {
    CHECK(two.b->messages[i].header == std::to_string(i));
    CHECK(two.b->messages[i].at_ns - sent_ns[i] < 5 * kMillisecondNs);
  }
  CHECK(two.b->messages[20].body == snapshot);
}

}  // namespace cl6_bulk
