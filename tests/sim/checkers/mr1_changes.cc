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

// What it has asked the metadata for is of a view that is not in force any more, too.
TEST_CASE("a mirror that cannot read a change joins anew, whatever else the view does meanwhile") {
  MirrorWorld world;
  world.declare("q");
  MirrorChannel channel(world, "q");
  channel.publish("1");
  world.settle();
  channel.publish("2");
  world.deliver(4, 1);
  auto& to_b = world.links[{1, 2}];
  REQUIRE(!to_b.empty());
  REQUIRE(to_b.front().letter->kind == ringtail::gm::kHandOn);
  auto& frame =
      ringtail::runtime::letter_cast<ringtail::gm::HandOnLetter>(*to_b.front().letter).frame;
  REQUIRE(frame.entries.size() == 1);
  const std::uint8_t none = 0xFF;
  frame.entries[0].changes = ringtail::runtime::Bytes::copy({&none, 1});
  world.declare_down(3, 1);
  for (const std::uint32_t id : {1U, 4U}) {
    while (world.apply(id)) {
    }
  }
  world.kill(3);
  for (int round = 0; round < 40; ++round) {
    world.settle();
    world.pass(300);
  }
  CHECK(world.members() == "a b");
  CHECK(joined(channel.confirmed) == "1 2");
  world.kill(1);
  world.declare_down(1, 1);
  world.settle();
  MirrorChannel consumer(world, "q");
  consumer.consume(true);
  world.settle();
  CHECK(joined(consumer.delivered) == "1 2");
}

}  // namespace mr1_changes
