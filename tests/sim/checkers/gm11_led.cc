// GM11: while the directory keeps a member whose life has ended, nothing is committed.
#include <doctest/doctest.h>

#include "tests/sim/ring_bench.h"

namespace gm11_led {

using namespace ringtail::sim;

TEST_CASE("nothing is committed as long as somebody who has ended may lead some day") {
  RingBench ring(2);
  ring.view.led = false;
  ring.change(false, {1, 2}, 2);
  ring.show();
  REQUIRE(ring.place(1).applied == 0);
  ring.append(1);
  ring.run({1, 2});
  CHECK(ring.place(1).applied == 0);
  ring.view.led = true;
  ring.change(false, {1, 2}, 2);
  ring.show();
  ring.run({1, 2});
  CHECK(ring.place(1).applied == 2);  // the epoch's first one, and this
  CHECK(ring.place(2).applied == 2);
}

}  // namespace gm11_led
