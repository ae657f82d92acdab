// GM5: a member reports only what it has matched with the log of its epoch's origin.
#include <doctest/doctest.h>

#include "tests/sim/ring_bench.h"

namespace gm5_reports {

using namespace ringtail::sim;
using ringtail::gm::Position;

TEST_CASE("nothing that was matched in a former epoch is reported in the next") {
  RingBench ring(3);
  ring.run({1, 2, 3});
  for (int i = 0; i < 5; ++i) ring.append(1);
  ring.turn(1);
  ring.deliver(1, 2);
  ring.change(true, {3, 2}, 2);
  ring.show(2);
  ring.turn(2);
  CHECK_FALSE(ring.member(2).matched().has_value());
}

}  // namespace gm5_reports
