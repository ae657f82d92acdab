// GM1: what carries another epoch is passed over.
#include <doctest/doctest.h>

#include "tests/sim/ring_bench.h"

namespace gm1_epochs {

using namespace ringtail::sim;

TEST_CASE("a former master is heard by nobody who knows of the next, and commits nothing") {
  RingBench ring(3);
  ring.run({1, 2, 3});
  for (std::uint32_t number = 1; number <= 3; ++number) ring.store(number);
  ring.run({1, 2, 3});
  REQUIRE(ring.place(1).applied == 1);
  ring.append(1);
  ring.turn(1);
  ring.change(true, {2, 3}, 2);
  ring.show(2);
  ring.show(3);
  ring.run({1, 2, 3});
  CHECK(ring.member(1).is_master());  // it has not been told
  CHECK(ring.place(1).applied == 1);
  CHECK(ring.member(2).log().last() == ringtail::gm::Position{2, 2});
  CHECK(ring.member(3).log().last() == ringtail::gm::Position{2, 2});
}

TEST_CASE("nor by its right neighbour that it still has, and what it heard then is no report now") {
  RingBench ring(3);
  ring.run({1, 2, 3});
  ring.change(true, {3, 1, 2}, 3);
  ring.show(2);
  ring.show(3);
  ring.append(1);
  ring.run({1, 2});
  CHECK(ring.member(2).log().last() == ringtail::gm::Position{1, 1});
  ring.store(3);
  ring.run({3});
  ringtail::gm::Report report;
  report.epoch = 1;
  report.matched = true;
  report.at = {1, 9};
  report.stored = 9;
  ring.member(3).receive(RingBench::id(1), report, ring.now_ms);
  ring.member(3).receive(RingBench::id(2), report, ring.now_ms);
  ring.run({3});
  CHECK(ring.place(3).applied == 1);
  CHECK(ring.place(3).on_disks == 0);
}

}  // namespace gm1_epochs
