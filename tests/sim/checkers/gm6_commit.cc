// GM6: committed is what all that count have; kept is what they have on their disks.
#include <doctest/doctest.h>

#include "tests/sim/ring_bench.h"

namespace gm6_commit {

using namespace ringtail::sim;

TEST_CASE("an entry waits for every member, and for every disk before it is kept") {
  RingBench ring(3);
  ring.run({1, 2, 3});
  ring.append(1);
  ring.run({1, 2});
  CHECK(ring.place(1).applied == 1);
  ring.run({1, 2, 3});
  for (std::uint32_t number = 1; number <= 3; ++number) CHECK(ring.place(number).applied == 2);
  CHECK(ring.place(1).on_disks == 0);
  ring.store(1);
  ring.store(3);
  ring.run({1, 2, 3});
  CHECK(ring.place(1).on_disks == 0);
  ring.store(2);
  ring.run({1, 2, 3});
  CHECK(ring.place(1).on_disks == 2);
}

}  // namespace gm6_commit
