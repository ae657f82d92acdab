// The disk alarm of a node whose disk fills and empties (broker/disk_monitor.h).
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "broker/runtime/sim/sim_disk.h"
#include "tests/sim/sim_broker.h"

namespace ringtail::sim::disk_alarm_test {

namespace {

constexpr std::uint64_t kLimit = 50'000'000;
constexpr std::uint64_t kLarge = 1ULL << 40;
// Above the limit, with room for what the node itself writes.
constexpr std::uint64_t kLittle = 10'000'000;

struct Scenario {
  explicit Scenario(std::uint64_t seed, std::uint16_t shards, std::uint64_t free = kLarge)
      : world(seed), host(world), node((set_free(free), host), shards) {}

  void set_free(std::uint64_t free) {
    host.drive().options().capacity_bytes = host.drive().used_bytes() + free;
  }
  bool opened(AmqpClient& client) {
    client.connect();
    return client.await_open() && client.open_channel(1);
  }
  bool all_alarmed(bool on) {
    bool all = true;
    for (std::size_t at = 0; at < node.shards(); ++at) {
      all = all && node.shard(at).disk_alarm() == on;
    }
    return all;
  }
  bool run_for_ms(std::uint64_t ms) {
    const std::uint64_t until = world.now_ns() + ms * runtime::kMillisecondNs;
    return world.run_until([&] { return world.now_ns() >= until; });
  }

  runtime::SimWorld world;
  runtime::SimHost host;
  BrokerNode node;
};

}  // namespace

TEST_CASE("a full disk blocks publishers of all shards, and room on it ends that") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    INFO("seed " << seed);
    Scenario sim(seed, 3);
    AmqpClient publisher(sim.host);
    AmqpClient consumer(sim.host);
    REQUIRE(sim.opened(publisher));
    REQUIRE(sim.opened(consumer));
    REQUIRE(publisher.declare(1, "q"));
    publisher.publish(1, "", "q", "before");
    CHECK(sim.all_alarmed(false));
    sim.set_free(kLimit - 1);
    REQUIRE(sim.world.run_until([&] { return sim.all_alarmed(true); }));
    // Nobody is told before he publishes.
    publisher.poll();
    CHECK_FALSE(publisher.blocked());
    publisher.publish(1, "", "q", "under");
    ServerFrame frame;
    REQUIRE(sim.world.run_until([&] {
      publisher.poll();
      return publisher.blocked();
    }));
    CHECK(publisher.blocked_reason() == "low on disk");
    publisher.publish(1, "", "q", "not read");
    // The consumer gets what came in. Of the message that met the alarm a part may not have.
    consumer.send(
        1, amqp::BasicConsume{.queue = "q", .consumer_tag = "c", .no_ack = true, .arguments = {}});
    std::vector<std::string> got;
    const auto look = [&] {
      while (consumer.take<amqp::BasicDeliver>(1, frame)) got.push_back(frame.body);
    };
    REQUIRE(sim.run_for_ms(10'000));
    look();
    CHECK((got == std::vector<std::string>{"before"} ||
           got == std::vector<std::string>{"before", "under"}));
    sim.set_free(kLimit + kLittle);
    REQUIRE(sim.world.run_until([&] {
      look();
      return got.size() == 3;
    }));
    CHECK(got == std::vector<std::string>{"before", "under", "not read"});
    REQUIRE(sim.world.run_until([&] {
      publisher.poll();
      return !publisher.blocked() && sim.all_alarmed(false);
    }));
    CHECK(publisher.times_blocked() == 1);
    REQUIRE(publisher.close());
    REQUIRE(consumer.close());
  }
}

TEST_CASE("a node that starts on a full disk takes nothing from its first publisher") {
  Scenario sim(1, 2, kLimit - 1);
  AmqpClient publisher(sim.host);
  REQUIRE(sim.opened(publisher));
  publisher.publish(1, "", "q", "x");
  CHECK(sim.world.run_until([&] {
    publisher.poll();
    return publisher.blocked();
  }));
}

TEST_CASE("with both alarms a connection goes on when neither is left") {
  Scenario sim(2, 2);
  AmqpClient publisher(sim.host);
  REQUIRE(sim.opened(publisher));
  REQUIRE(publisher.declare(1, "q"));
  publisher.publish(1, "", "q", "something in memory");
  sim.set_free(kLimit - 1);
  REQUIRE(sim.world.run_until([&] { return sim.all_alarmed(true); }));
  const auto set_memory = [&](std::uint64_t limit) {
    sim.node.run_on_shard(0, [&] { sim.node.shard(0).memory_monitor()->set_limit(limit); });
  };
  const auto all_short_of_memory = [&](bool on) {
    return sim.world.run_until([&] {
      return sim.node.shard(0).memory_alarm() == on && sim.node.shard(1).memory_alarm() == on;
    });
  };
  set_memory(1);
  REQUIRE(all_short_of_memory(true));
  publisher.publish(1, "", "q", "x");
  REQUIRE(sim.world.run_until([&] {
    publisher.poll();
    return publisher.blocked();
  }));
  CHECK(publisher.blocked_reason() == "low on memory & disk");
  set_memory(1ULL << 32);
  REQUIRE(all_short_of_memory(false));
  REQUIRE(sim.run_for_ms(3000));
  publisher.poll();
  CHECK(publisher.blocked());
  sim.node.run_on_shard(0, [&] { sim.node.shard(0).disk_monitor()->set_limit(0); });
  CHECK(sim.world.run_until([&] {
    publisher.poll();
    return !publisher.blocked();
  }));
}

TEST_CASE("the disk is asked more often the nearer it is to full") {
  const auto looks_in_10_s = [](std::uint64_t above) {
    Scenario sim(3, 1);
    REQUIRE(sim.run_for_ms(1000));  // what the node itself writes is there
    sim.set_free(kLimit + above);
    REQUIRE(sim.run_for_ms(3000));  // it has looked
    const std::uint64_t before = sim.host.drive().calls(runtime::SimDiskCall::kName);
    REQUIRE(sim.run_for_ms(10'000));
    return sim.host.drive().calls(runtime::SimDiskCall::kName) - before;
  };
  CHECK(looks_in_10_s(kLarge) <= 6);
  CHECK(looks_in_10_s(250'000'000) >= 9);
  CHECK(looks_in_10_s(250'000'000) <= 12);
  CHECK(looks_in_10_s(kLittle) >= 95);
}

TEST_CASE("when the space cannot be asked for the alarm stays as it was") {
  Scenario sim(4, 2, kLimit - 1);
  REQUIRE(sim.world.run_until([&] { return sim.all_alarmed(true); }));
  sim.host.drive().fail_call(runtime::SimDiskCall::kName, 1, runtime::Code::kIo, 3);
  sim.set_free(kLarge);
  REQUIRE(sim.run_for_ms(5000));
  CHECK(sim.all_alarmed(true));
  CHECK(sim.world.run_until([&] { return sim.all_alarmed(false); }));
}

}  // namespace ringtail::sim::disk_alarm_test
