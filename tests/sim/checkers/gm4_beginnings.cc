// GM4: a master's first entry begins its epoch, and cuts what others have of former ones.
#include <doctest/doctest.h>

#include "tests/sim/ring_bench.h"

namespace gm4_beginnings {

using namespace ringtail::sim;
using ringtail::gm::Position;

TEST_CASE("what a new master does not have is cut, and kept aside, without any new change") {
  RingBench ring(3);
  ring.run({1, 2, 3});
  ring.append(1);
  ring.append(1);
  ring.turn(1);
  ring.deliver(1, 2);
  REQUIRE(ring.member(2).log().last() == Position{1, 3});
  ring.change(true, {3, 2}, 2);
  ring.show(2);
  ring.show(3);
  ring.run({2, 3});
  CHECK(ring.member(3).log().last() == Position{2, 2});
  CHECK(ring.member(2).log().last() == Position{2, 2});
  REQUIRE(ring.place(2).cuts.size() == 1);
  CHECK(ring.place(2).cuts[0] == 1);
  CHECK(ring.place(2).kept_aside == std::vector<Position>{{1, 2}, {1, 3}});
}

}  // namespace gm4_beginnings
