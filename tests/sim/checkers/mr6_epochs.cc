// MR6: letters of a former epoch are passed over; in the stead of a queue that lives elsewhere
// nobody answers.
#include <doctest/doctest.h>

#include "tests/sim/mirror_world.h"

namespace mr6_epochs {

using namespace ringtail::queue;
using namespace ringtail::queue::test;

TEST_CASE("what comes to a node that has no copy any more is not answered there") {
  MirrorWorld world;
  world.declare("q");
  MirrorChannel channel(world, "q");
  channel.look();
  world.kill(1);
  world.declare_down(1, 1);
  // It is back, and has no copy yet; the channel has heard of nothing.
  world.come_back(1, 2);
  while (world.apply(1)) {
  }
  channel.publish("1");
  world.deliver(4, 1);
  while (world.deliver(1, 4)) {
  }
  CHECK(joined(channel.confirmed).empty());
  world.settle();
  channel.look();
  world.settle();
  CHECK(joined(channel.confirmed) == "1");
  CHECK(world.process().stats().messages_ready == 1);
}

}  // namespace mr6_epochs
