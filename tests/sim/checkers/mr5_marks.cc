// MR5: nothing is delivered before all slaves know that it may have been.
#include <doctest/doctest.h>

#include "tests/sim/mirror_world.h"

namespace mr5_marks {

using namespace ringtail::queue;
using namespace ringtail::queue::test;

TEST_CASE("a slave takes over with all that was confirmed, in its order, and marks what was out") {
  MirrorWorld world;
  world.declare("q");
  MirrorChannel channel(world, "q");
  MirrorChannel consumer(world, "q");
  for (const char* body : {"1", "2", "3", "4"}) channel.publish(body);
  world.settle();
  consumer.consume();
  world.settle();
  CHECK(joined(consumer.delivered) == "1 2 3 4");
  consumer.ack(2);
  world.settle();
  world.kill(1);
  world.declare_down(1, 1);
  world.settle();
  CHECK(world.members() == "b c");
  consumer.delivered.clear();
  consumer.look();
  channel.publish("5");
  world.settle();
  CHECK(joined(consumer.delivered) == "3* 4* 5");
  CHECK(joined(channel.confirmed) == "1 2 3 4 5");
}

TEST_CASE("what has waited for a consumer goes out when the slaves know that") {
  MirrorWorld world;
  world.declare("q");
  MirrorChannel channel(world, "q");
  MirrorChannel consumer(world, "q");
  channel.publish("1");
  world.settle();
  consumer.consume();
  world.deliver(4, 1);  // the consumer is there
  while (world.deliver(1, 4)) {
  }
  CHECK(joined(consumer.delivered).empty());
  world.settle();
  CHECK(joined(consumer.delivered) == "1");
}

}  // namespace mr5_marks
