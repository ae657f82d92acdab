// MR1: whatever happens to the queue goes round the ring as a change, in one order.
#include <doctest/doctest.h>

#include "tests/sim/mirror_world.h"

namespace mr1_changes {

using namespace ringtail::queue;
using namespace ringtail::queue::test;

TEST_CASE("a purge leaves what is handed out, on every mirror") {
  MirrorWorld world;
  world.declare("q");
  MirrorChannel channel(world, "q");
  MirrorChannel consumer(world, "q");
  consumer.consume();
  channel.publish("1");
  channel.publish("2");
  world.settle();
  consumer.ack(1);
  world.settle();
  MirrorChannel other(world, "q");
  other.purge();
  world.settle();
  world.kill(1);
  world.declare_down(1, 1);
  world.settle();
  consumer.delivered.clear();
  consumer.look();
  world.settle();
  CHECK(joined(consumer.delivered) == "2*");
}

}  // namespace mr1_changes
