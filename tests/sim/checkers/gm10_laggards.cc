// GM10: who is proposed for eviction keeps others waiting himself.
#include <doctest/doctest.h>

#include "tests/sim/ring_bench.h"

namespace gm10_laggards {

using namespace ringtail::sim;
using ringtail::gm::ViewChange;

TEST_CASE("of those that lack something, the first in ring order is evicted, and in its time") {
  RingBench ring(4);
  ring.run({1, 2, 3, 4});
  for (std::uint32_t number = 1; number <= 4; ++number) ring.store(number);
  ring.run({1, 2, 3, 4});
  ring.append(1);
  ring.now_ms += 6000;
  ring.run({1, 2});
  ring.member(1).tick(ring.now_ms);
  REQUIRE(ring.proposals.size() == 1);
  CHECK(ring.proposals[0].kind == ViewChange::Kind::kEvict);
  CHECK(ring.proposals[0].member == RingBench::id(3));
}

TEST_CASE("a disk that stands still is a member that stands still; who lacks nothing may be idle") {
  RingBench ring(3);
  ring.run({1, 2, 3});
  for (std::uint32_t number = 1; number <= 3; ++number) ring.store(number);
  ring.run({1, 2, 3});
  ring.member(1).tick(60'000);
  CHECK(ring.proposals.empty());
  ring.append(1);
  ring.run({1, 2, 3});
  ring.store(1);
  ring.store(2);
  ring.run({1, 2, 3});
  ring.member(1).tick(ring.now_ms + 4999);
  CHECK(ring.proposals.empty());
  ring.member(1).tick(ring.now_ms + 5000);
  REQUIRE(ring.proposals.size() == 1);
  CHECK(ring.proposals[0].member == RingBench::id(3));
}

TEST_CASE("who has all that his left neighbour has is not to blame") {
  RingBench ring(4);
  ring.run({1, 2, 3, 4});
  for (std::uint32_t number = 1; number <= 4; ++number) ring.store(number);
  ring.run({1, 2, 3, 4});
  ring.append(1);
  ring.run({1, 2, 3, 4});
  ring.store(1);
  ring.store(2);
  ring.store(4);
  ring.run({1, 2, 3, 4});
  ring.append(1);
  ring.run({1, 2});
  ring.now_ms += 6000;
  ring.store(1);
  ring.store(2);
  ring.store(3);  // its disk is slow, and moves
  ring.turn(3);
  while (ring.deliver(3, 1)) {
  }
  ring.run({1, 2});
  ring.member(1).tick(ring.now_ms);
  CHECK(ring.proposals.empty());
}

}  // namespace gm10_laggards
