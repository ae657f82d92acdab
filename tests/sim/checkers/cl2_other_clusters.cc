// CL2: nodes of different clusters, or of different force generations of one, have no link.
#include <doctest/doctest.h>

#include "tests/sim/link_cluster.h"
#include "tests/sim/seeds.h"

namespace cl2_other_clusters {

using namespace ringtail;
using namespace ringtail::sim;
using cluster::LinkEnd;
using runtime::kSecondNs;

TEST_CASE("links: clusters do not merge by accident") {
  TwoNodes two;
  const runtime::NodeId b{2};
  cluster::LinkIdentity other = two.b->identity(1);
  SUBCASE("cluster") { other.cluster.fill(9); }
  SUBCASE("force generation") { other.force_generation = 1; }
  two.b->on_control([&] { two.b->hub().set_own(other); });
  two.link();
  two.world.run_for(1 * kSecondNs);
  REQUIRE(!two.a->disconnected[b].empty());
  for (const LinkEnd end : two.a->disconnected[b]) CHECK(end == LinkEnd::kRejected);
  CHECK(two.a->connected.empty());
  // It becomes the same one.
  two.b->on_control([&] { two.b->hub().set_own(two.b->identity(1)); });
  CHECK(two.connected());
  // And is another again: its own links end, not ours; but ours do when we change.
  cluster::LinkIdentity own = two.a->identity(1);
  own.force_generation = 2;
  two.a->on_control([&] { two.a->hub().set_own(own); });
  two.world.run_for(1 * kSecondNs);
  CHECK(two.a->disconnected[b].back() == LinkEnd::kRejected);
  CHECK_FALSE(two.a->hub().control().is_connected(b));
}

}  // namespace cl2_other_clusters
