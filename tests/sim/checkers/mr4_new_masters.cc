// MR4: a new master serves nobody before the first entry of its epoch is committed.
#include <doctest/doctest.h>

#include "tests/sim/mirror_world.h"

namespace mr4_new_masters {

using namespace ringtail::queue;
using namespace ringtail::queue::test;

TEST_CASE("a new master serves when all have the first entry of its epoch") {
  MirrorWorld world;
  world.declare("q");
  MirrorChannel channel(world, "q");
  MirrorChannel consumer(world, "q");
  consumer.consume();
  channel.publish("1");
  world.settle();
  CHECK(joined(consumer.delivered) == "1");
  consumer.delivered.clear();
  world.kill(1);
  world.declare_down(1, 1);
  // Node b leads, and c has not heard of it.
  for (int round = 0; round < 5; ++round) {
    for (const std::uint32_t id : {2U, 4U}) {
      while (world.apply(id)) {
      }
    }
    consumer.look();
    world.deliver(4, 2);
  }
  CHECK(world.master() == 2);
  CHECK(joined(consumer.delivered).empty());
  CHECK(world.node(2).registry->find(world.record()->qid) == nullptr);
  world.settle();
  CHECK(joined(consumer.delivered) == "1*");
}

}  // namespace mr4_new_masters
