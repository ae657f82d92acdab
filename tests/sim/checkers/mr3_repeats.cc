// MR3: what comes again is recognised, and what was never committed may come again.
#include <doctest/doctest.h>

#include "tests/sim/mirror_world.h"

namespace mr3_repeats {

using namespace ringtail::queue;
using namespace ringtail::queue::test;

TEST_CASE("what was under way when the master died is enqueued once") {
  for (int steps = 0; steps < 12; ++steps) {
    MirrorWorld world;
    world.declare("q");
    MirrorChannel channel(world, "q");
    for (const char* body : {"1", "2", "3"}) channel.publish(body);
    // However far it got.
    for (int step = 0; step < steps; ++step) {
      world.deliver(4, 1);
      world.deliver(1, 2);
      if (step % 2 == 1) world.deliver(2, 3);
      if (step % 3 == 2) world.deliver(2, 1);
      if (step % 4 == 3) world.deliver(3, 1);
    }
    world.kill(1);
    world.declare_down(1, 1);
    world.settle();
    channel.look();
    world.settle();
    CHECK(joined(channel.confirmed) == "1 2 3");
    MirrorChannel consumer(world, "q");
    consumer.consume(true);
    world.settle();
    CHECK(joined(consumer.delivered) == "1 2 3");
  }
}

// A master that took something, lost its place before that was committed, and is master again.
TEST_CASE("what was taken and never committed is taken when it comes again") {
  MirrorWorld world;
  const Qid qid = world.declare("q");
  MirrorChannel channel(world, "q");
  channel.publish("1");
  world.deliver(4, 1);  // taken, and nobody else has it
  world.links[{1, 2}].clear();
  for (const std::uint32_t to : {2U, 1U}) {
    world.log.push_back(metadata::TransferQueue{"/", "q", qid, NodeId{to}});
    world.settle();
  }
  REQUIRE(world.master() == 1);
  channel.look();
  world.settle();
  CHECK(joined(channel.confirmed) == "1");
  MirrorChannel consumer(world, "q");
  consumer.consume(true);
  world.settle();
  CHECK(joined(consumer.delivered) == "1");
}

TEST_CASE("what its channel has refused is not waited for") {
  MirrorWorld world;
  world.declare("q");
  MirrorChannel channel(world, "q");
  channel.publish("1");
  world.settle();
  channel.refuse(3);
  channel.publish("5");
  world.settle();
  CHECK(joined(channel.confirmed) == "1 5");
  CHECK(world.process().stats().messages_ready == 2);
}

// The processes live on: all nodes were cut off for a while.
TEST_CASE("a copy that goes on in another life of its node knows what it has") {
  MirrorWorld world;
  world.declare("q");
  MirrorChannel channel(world, "q");
  channel.publish("1");
  for (int round = 0; round < 10; ++round) {
    for (std::uint32_t from = 1; from <= 4; ++from) {
      for (std::uint32_t to = 1; to <= 3; ++to) world.deliver(from, to);
    }
  }
  world.links[{1, 4}].clear();  // the channel has not heard that it is settled
  for (std::uint32_t id = 3; id >= 1; --id) world.declare_down(id, 1);
  for (std::uint32_t id = 1; id <= 3; ++id) {
    world.log.push_back(metadata::NodeUp{world.node_record(id)});
    world.node(id).life = 2;
  }
  for (int round = 0; round < 20; ++round) {
    world.settle();
    world.pass(300);
    channel.look();
  }
  CHECK(joined(channel.confirmed) == "1");
  MirrorChannel consumer(world, "q");
  consumer.consume(true);
  world.settle();
  REQUIRE(!consumer.delivered.empty());
  CHECK(consumer.delivered.size() == 1);
}

}  // namespace mr3_repeats
