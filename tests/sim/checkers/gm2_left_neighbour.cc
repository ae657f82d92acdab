// GM2: entries are taken from the left neighbour of the receiver's own view alone.
#include <doctest/doctest.h>

#include "tests/sim/ring_bench.h"

namespace gm2_left_neighbour {

using namespace ringtail::sim;

TEST_CASE("who is not the left neighbour, or was it in a former membership, is not heard") {
  RingBench ring(3);
  ring.run({1, 2, 3});
  ring.append(1);
  // Its view has 2 between them; it has not been told that 2 has gone.
  ring.change(false, {1, 3}, 2);
  ring.show(1);
  ring.drop(1, 3);
  ring.turn(1);
  while (ring.deliver(1, 3)) {
  }
  CHECK(ring.member(3).log().last().number == 1);
  ring.show(3);
  ringtail::gm::HandOn frame;
  frame.epoch = 1;
  frame.previous = {1, 1};
  frame.entries.push_back({.at = {1, 2}, .changes = {}, .bodies = {}});
  ring.member(3).receive(RingBench::id(1, 7), frame);
  CHECK(ring.member(3).log().last().number == 1);
  ring.member(3).receive(RingBench::id(1), frame);
  CHECK(ring.member(3).log().last().number == 2);
}

TEST_CASE("who is the left neighbour again, after another one, begins anew") {
  RingBench ring(3);
  ring.run({1, 2, 3});
  ring.store(3);
  ring.turn(3);  // a report, under way to 2
  ring.append(1);
  ring.run({1, 2});
  ring.change(false, {1, 3, 2}, 3);
  for (const std::uint32_t number : {1, 2, 3}) ring.show(number);
  ring.drop(2, 3);
  ring.change(false, {1, 2, 3}, 3);
  ring.show(1);
  ring.show(2);
  while (ring.deliver(3, 2)) {
  }
  ring.turn(2);
  while (ring.deliver(2, 3)) {
  }
  CHECK(ring.member(3).log().last().number == 1);  // its left neighbour is 1
  ring.show(3);
  ring.run({1, 2, 3});
  CHECK(ring.member(3).log().last().number == 2);
}

}  // namespace gm2_left_neighbour
