// GM8: one that joins may begin behind a gap, and lacks what is older; one in sync never does.
#include <doctest/doctest.h>

#include "tests/sim/ring_bench.h"

namespace gm8_gaps {

using namespace ringtail::sim;
using ringtail::gm::Position;

TEST_CASE("one that joins begins where its left neighbour's log does, and is not complete") {
  RingBench ring(1);
  ring.keep_bytes = 0;
  ring.add(1, RingBench::id(1), true);
  ring.show();
  for (int i = 0; i < 5; ++i) ring.append(1);
  ring.store(1);
  ring.run({1});
  REQUIRE(ring.place(1).applied == 6);
  ring.add(2, RingBench::id(2, 2), false);
  ring.change(false, {1, 2}, 1);
  ring.show();
  ring.run({1, 2});
  CHECK(ring.place(2).restarts == std::vector<Position>{{1, 6}});
  CHECK_FALSE(ring.member(2).complete());
  CHECK(ring.proposals.empty());
  ring.member(2).completed();
  ring.run({1, 2});
  REQUIRE(ring.proposals.size() == 1);
  // Of a view in which it is not in sync any more it has not heard, or the sender is mistaken.
  ring.change(false, {1, 2}, 2);
  ring.show();
  ring.run({1, 2});
  ringtail::gm::HandOn frame;
  frame.epoch = 1;
  frame.previous = {1, 20};
  frame.begins_here = true;
  ring.member(2).receive(RingBench::id(1), frame);
  CHECK(ring.place(2).restarts.size() == 1);
  CHECK(ring.member(2).log().last() == Position{1, 6});
}

}  // namespace gm8_gaps
