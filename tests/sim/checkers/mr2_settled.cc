// MR2: a publish is settled when it is committed.
#include <doctest/doctest.h>

#include "tests/sim/mirror_world.h"

namespace mr2_settled {

using namespace ringtail::queue;
using namespace ringtail::queue::test;

TEST_CASE("what is published to a mirrored queue is confirmed when all mirrors have it") {
  MirrorWorld world;
  world.declare("q");
  CHECK(world.members() == "a b c");
  MirrorChannel channel(world, "q");
  channel.publish("1");
  world.deliver(4, 1);  // to the master, which hands it on
  CHECK(joined(channel.confirmed).empty());
  world.settle();
  CHECK(joined(channel.confirmed) == "1");
  CHECK(world.process().stats().messages_ready == 1);
}

TEST_CASE("a master that is cut off confirms nothing") {
  MirrorWorld world;
  world.declare("q");
  MirrorChannel channel(world, "q");
  channel.publish("1");
  world.settle();
  // It hears of nothing that the others agree on.
  world.declare_down(1, 1);
  for (const std::uint32_t id : {2U, 3U, 4U}) {
    while (world.apply(id)) {
    }
  }
  const auto before = world.node(1).applied;
  channel.look();
  for (int step = 0; step < 20; ++step) {
    for (std::uint32_t from = 1; from <= 4; ++from) {
      for (std::uint32_t to = 1; to <= 4; ++to) world.deliver(from, to);
    }
  }
  CHECK(world.node(1).applied == before);
  QueueProcess* former = world.node(1).registry->find(world.record()->qid);
  REQUIRE(former != nullptr);
  CHECK(world.master() == 2);
}

}  // namespace mr2_settled
