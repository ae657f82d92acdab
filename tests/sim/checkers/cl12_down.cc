// CL12: who has died is declared down at once, who is silent within bounded time; and nobody else.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/sim/cluster_machines.h"
#include "tests/sim/seeds.h"

namespace ringtail::sim {

TEST_CASE("a killed leader is followed at once, a frozen or cut-off one within bounded time") {
  enum class End { kKill, kFreeze, kCut };
  for (const End end : {End::kKill, End::kFreeze, End::kCut}) {
    CAPTURE(static_cast<int>(end));
    Cluster cluster(5, 3);
    cluster.start_all();
    REQUIRE(cluster.run_until([&] { return cluster.is_one(); }));
    std::uint32_t leader = 1;
    while (!cluster.node(leader)->control().raft().leads()) ++leader;
    const std::uint32_t other = leader % 3 + 1;
    const auto gone = cluster.node(leader)->id();
    cluster.world.run_for(3 * kSecondNs);  // a refusal counts for who is known for a while
    const std::uint64_t before = cluster.world.now_ns();
    if (end == End::kKill) cluster.kill(leader);
    if (end == End::kFreeze) cluster.node(leader)->pause();
    if (end == End::kCut) cluster.world.network().paths().isolate(cluster.host(leader));
    REQUIRE(cluster.run_until([&] {
      const auto record = cluster.node(other)->store(0).node(gone);
      return record != nullptr && !record->up;
    }));
    const std::uint64_t took_ms = (cluster.world.now_ns() - before) / kMillisecondNs;
    CAPTURE(took_ms);
    CHECK(took_ms < (end == End::kKill ? 500 : 3500));
    CHECK(cluster.propose(other, queue("after", *cluster.node(other))).outcome == Outcome::kDone);
    if (end == End::kCut) {
      // It knows that it may not act, and says so in bounded time.
      CHECK_FALSE(cluster.node(leader)->control().holds_lease());
      CHECK(cluster.propose(leader, queue("no", *cluster.node(leader))).outcome ==
            Outcome::kUnavailable);
    }
    if (end == End::kFreeze) cluster.node(leader)->resume();
    cluster.world.network().paths().heal_all();
    if (end == End::kKill) cluster.start(leader, cluster.together);
    REQUIRE(cluster.run_until([&] { return cluster.is_one(); }));
    CHECK(cluster.node(leader)->store(0).queue("/", "after") != nullptr);
    CHECK(cluster.node(leader)->store(0).queue("/", "no") == nullptr);
  }
}

}  // namespace ringtail::sim
