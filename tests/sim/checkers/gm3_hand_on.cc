// GM3: a member hands on only what it has matched with the origin's log.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/sim/ring_bench.h"

namespace gm3_hand_on {

using namespace ringtail::sim;
using ringtail::gm::Position;

TEST_CASE("what a former master has sent is handed on by nobody before the next one has it") {
  RingBench ring(4);
  ring.run({1, 2, 3, 4});
  ring.append(1);
  ring.turn(1);
  ring.deliver(1, 2);  // 2 alone has it
  REQUIRE(ring.member(2).log().last() == Position{1, 2});
  // Nobody hears of 3 for a while, which leads.
  ring.change(true, {3, 2, 4}, 3);
  ring.show(2);
  ring.show(4);
  ring.run({2, 4});
  const auto& entries = ring.place(4).entries;
  CHECK(std::find(entries.begin(), entries.end(), Position{1, 2}) == entries.end());
  ring.show(3);
  ring.run({2, 3, 4});
  CHECK(ring.member(4).log().last() == Position{2, 2});
}

TEST_CASE("nor what is behind that which is known to be the origin's") {
  RingBench ring(4);
  ring.run({1, 2, 3, 4});
  ring.append(1);
  ring.turn(1);
  ring.deliver(1, 2);
  ring.change(true, {3, 2, 4}, 3);
  ring.show(2);
  ring.show(4);
  ringtail::gm::HandOn question;
  question.epoch = 2;
  question.session = 1;
  question.previous = {1, 1};
  ring.member(2).receive(RingBench::id(3), question);
  REQUIRE(ring.member(2).matched() == 1);
  REQUIRE(ring.member(2).log().last() == Position{1, 2});
  ring.run({2, 4});
  CHECK(ring.member(4).matched() == 1);
  CHECK(ring.member(4).log().last() == Position{1, 1});
}

}  // namespace gm3_hand_on
