// GM9: who is proposed for admission counts from before the proposal until the view has changed.
#include <doctest/doctest.h>

#include "tests/sim/ring_bench.h"

namespace gm9_admission {

using namespace ringtail::sim;
using ringtail::gm::ViewChange;

TEST_CASE("nothing is committed without one that may have been admitted by now") {
  RingBench ring(1);
  ring.store(1);
  ring.add(2, RingBench::id(2, 2), false);
  ring.change(false, {1, 2}, 1);
  ring.show();
  ring.run({1, 2});
  ring.store(1);
  ring.member(2).completed();
  ring.run({1, 2});
  CHECK(ring.proposals.empty());  // its disk lacks what the master's has
  ring.store(2);
  ring.run({1, 2});
  REQUIRE(ring.proposals.size() == 1);
  CHECK(ring.proposals[0].kind == ViewChange::Kind::kAdmit);
  CHECK(ring.proposals[0].member == RingBench::id(2, 2));
  CHECK(ring.proposals[0].revision == ring.view.revision);
  const auto before = ring.place(1).applied;
  ring.append(1);
  ring.run({1});
  CHECK(ring.place(1).applied == before);
  ring.member(1).tick(2000);  // it may have been lost
  CHECK(ring.proposals.size() == 2);
  SUBCASE("it was refused: the view is another one, in which it joins") {
    ring.change(false, {1, 2}, 1);
    ring.drop(1, 2);
    ring.show(1);
    ring.run({1});
    CHECK(ring.place(1).applied == before + 1);
  }
  SUBCASE("it was agreed on") {
    ring.change(false, {1, 2}, 2);
    ring.drop(1, 2);
    ring.show(1);
    ring.run({1});
    CHECK(ring.place(1).applied == before);
    ring.show(2);
    ring.run({1, 2});
    CHECK(ring.place(1).applied == before + 1);
  }
}

}  // namespace gm9_admission
