// GM7: what is committed is never cut.
#include <doctest/doctest.h>

#include "tests/sim/ring_bench.h"

namespace gm7_divergence {

using namespace ringtail::sim;
using ringtail::gm::Position;

TEST_CASE("a member whose committed entries are not the origin's says so and takes no more") {
  RingBench ring(2);
  ring.run({1, 2});
  ring.append(1);
  for (std::uint32_t number = 1; number <= 2; ++number) ring.store(number);
  ring.run({1, 2});
  REQUIRE(ring.place(2).applied == 2);
  ring.change(true, {1, 2}, 2);
  ring.show(2);
  ringtail::gm::HandOn frame;
  frame.epoch = 2;
  frame.previous = {1, 1};
  frame.entries.push_back({.at = {2, 2}, .changes = {}, .bodies = {}});
  ring.member(2).receive(RingBench::id(1), frame);
  CHECK(ring.place(2).divergences == std::vector<Position>{{2, 2}});
  CHECK(ring.place(2).cuts.empty());
  CHECK(ring.member(2).log().last() == Position{1, 2});
  CHECK_FALSE(ring.member(2).takes_part());
}

}  // namespace gm7_divergence
