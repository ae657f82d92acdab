// MR7: a copy that joins is complete when it has all that is alive.
#include <doctest/doctest.h>

#include "tests/sim/mirror_world.h"

namespace mr7_joining {

using namespace ringtail::queue;
using namespace ringtail::queue::test;

TEST_CASE("a mirror that comes back joins, and leads with everything when the others die") {
  MirrorWorld world;
  world.declare("q");
  MirrorChannel channel(world, "q");
  for (const char* body : {"1", "2", "3"}) channel.publish(body);
  world.settle();
  world.kill(3);
  world.declare_down(3, 1);
  world.settle();
  CHECK(world.members() == "a b");
  MirrorChannel consumer(world, "q");
  consumer.consume();
  world.settle();
  consumer.ack(1);
  channel.publish("4");
  world.settle();
  world.come_back(3, 2);
  world.settle();
  CHECK(world.members() == "a b c");
  channel.publish("5");
  world.settle();
  for (const std::uint32_t node : {1U, 2U}) {
    world.kill(node);
    world.declare_down(node, 1);
    world.settle();
  }
  CHECK(world.members() == "c");
  consumer.delivered.clear();
  consumer.look();
  channel.look();
  world.settle();
  CHECK(joined(consumer.delivered) == "2* 3* 4* 5*");
  CHECK(joined(channel.confirmed) == "1 2 3 4 5");
}

}  // namespace mr7_joining
