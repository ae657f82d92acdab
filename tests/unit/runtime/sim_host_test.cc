// What can befall a simulated machine and its processes.
#include "broker/runtime/sim/sim_host.h"

#include <doctest/doctest.h>

#include "broker/runtime/sim/sim_shard.h"
#include "tests/unit/runtime/sim_faults.h"

namespace sim_host_test {

using namespace ringtail::runtime;

TEST_CASE("a paused process runs nothing; its kernel accepts, takes input and sends") {
  ThreeHosts test(1);
  int fired = 0;
  const auto timer = test.b.env->timers().make([&] { ++fired; });
  timer->start(1000, 1000);
  // 300,000 bytes that its kernel has not all taken yet.
  const std::string much = letters(300000, 1);
  test.server().send(much);
  test.b.host.pause();
  const std::string there = letters(400000, 2);
  test.client->send(there);
  SimClient second(test.c.host);
  second.connect(test.b.address, 5672);
  second.send("hello");
  test.world.run_for(30 * kSecondNs);
  CHECK(second.connected());
  CHECK(test.b.served.size() == 1);
  CHECK(test.server().read.empty());
  CHECK(test.client->unsent() > 0);
  CHECK(test.client->total_received() > 0);
  CHECK(test.client->total_received() < much.size());
  CHECK(fired == 0);
  CHECK(test.client->connected());

  test.b.host.resume();
  REQUIRE(test.world.run_until([&] {
    return test.b.served.size() == 2 && test.server().read.size() == there.size() &&
           test.b.served[1]->read == "hello" && test.client->total_received() == much.size();
  }));
  CHECK(test.server().read == there);
  CHECK(as_text(test.client->received()) == much);
  CHECK(fired == 1);  // what it has missed does not come in a heap
  test.world.run_for(3 * kSecondNs);
  CHECK(fired == 4);
}

TEST_CASE("what was held back runs in its order; what was cancelled meanwhile does not") {
  SimWorld world(2);
  SimHost host(world);
  SimEnv env(host);
  std::string ran;
  const auto schedule = [&](char name, std::uint64_t delay_ms) {
    return env.schedule(delay_ms * kMillisecondNs, SimEventKind::kWork,
                        [&ran, name] { ran += name; });
  };
  schedule('b', 20);
  schedule('a', 10);
  const SimEventId gone = schedule('x', 15);
  env.pause();
  env.pause();
  world.run_for(30 * kMillisecondNs);
  CHECK(ran.empty());
  env.cancel(gone);
  schedule('d', 1);
  env.schedule(0, SimEventKind::kWork, [&] {
    ran += 'c';
    env.pause();
  });
  world.run_for(0);
  env.resume();
  schedule('e', 0);
  world.run_for(10 * kMillisecondNs);
  CHECK(ran == "abc");
  env.resume();
  env.resume();
  world.run_for(10 * kMillisecondNs);
  CHECK(ran == "abced");
}

TEST_CASE("a process that is killed: its connections end at once, and nothing runs any more") {
  for (const bool unread : {false, true}) {
    CAPTURE(unread);
    ThreeHosts test(3);
    test.client->pause();
    test.server().send("said before");
    test.world.run_for(10 * kMillisecondNs);
    if (unread) test.server().stream->pause_reading();
    test.client->send("unread?");
    test.world.run_for(10 * kMillisecondNs);
    bool ran = false;
    auto timer = test.b.env->timers().make([&] { ran = true; });
    timer->start(1);
    test.b.host.kill_processes();
    // What it has sent is still there to be read.
    test.client->resume();
    const std::uint64_t start_ns = test.world.now_ns();
    REQUIRE(test.world.run_until([&] { return test.client->closed(); }));
    CHECK(test.world.now_ns() - start_ns < kMillisecondNs);
    CHECK(as_text(test.client->received()) == "said before");
    CHECK(test.client->why().code() == Code::kClosed);
    CHECK((test.client->why().text().find("reset") != std::string::npos) == unread);
    CHECK(test.connect(test.a, test.b).first == Code::kRefused);
    CHECK(test.connect(test.a, test.b).second < 2);
    test.world.run_for(kSecondNs);
    CHECK_FALSE(ran);
    CHECK(test.server().closed == 0);
    // Its objects say nothing more.
    test.server().send("from the dead");
    const std::uint64_t events = test.world.events_run();
    timer->start(1);
    test.world.run_for(kSecondNs);
    CHECK(test.world.events_run() == events);
    timer.reset();  // before the loop that it hangs on
    test.b.destroy();
    test.b.start();
    CHECK(test.connect(test.a, test.b).first == Code::kOk);
  }
}

TEST_CASE("who writes to a process that was killed is reset, lingering or not") {
  for (const bool closed_before : {false, true}) {
    CAPTURE(closed_before);
    ThreeHosts test(4);
    test.client->pause();  // it does not see the end
    if (closed_before) test.server().stream->close();
    test.world.run_for(10 * kMillisecondNs);
    test.b.env->kill();
    test.b.destroy();
    test.world.run_for(10 * kMillisecondNs);
    CHECK_FALSE(test.client->closed());
    test.client->send("hello?");
    test.world.run_for(10 * kMillisecondNs);
    test.client->resume();
    REQUIRE(test.world.run_until([&] { return test.client->closed(); }));
    CHECK(test.client->why().text().find("reset") != std::string::npos);
  }
}

TEST_CASE("connections that wait for a stopped process are reset when it is killed") {
  ThreeHosts test(5);
  test.b.host.pause();
  SimClient waiting(test.a.host);
  waiting.connect(test.b.address, 5672);
  waiting.send("hello");
  test.world.run_for(kSecondNs);
  CHECK(waiting.connected());
  test.b.host.kill_processes();
  REQUIRE(test.world.run_until([&] { return waiting.closed(); }));
  CHECK(waiting.why().text().find("reset") != std::string::npos);
}

TEST_CASE("one process of a host is paused or killed, another goes on") {
  SimWorld world(6);
  SimHost host(world, {"10.0.0.1"});
  SimNode node(host, NodeId{0}, 2);
  SimNode other(host, NodeId{1}, 1);
  int fired = 0;
  int other_fired = 0;
  const auto timer = node.driver(1).env().timers().make([&] { ++fired; });
  const auto other_timer = other.driver(0).env().timers().make([&] { ++other_fired; });
  timer->start(10, 10);
  other_timer->start(10, 10);
  node.pause();
  world.run_for(100 * kMillisecondNs);
  CHECK(fired == 0);
  CHECK(other_fired == 10);
  node.resume();
  world.run_for(100 * kMillisecondNs);
  CHECK(fired == 11);
  node.kill();
  world.run_for(100 * kMillisecondNs);
  CHECK(fired == 11);
  CHECK(other_fired == 30);
}

TEST_CASE("a machine without power says nothing; back again it has forgotten everything") {
  ThreeHosts test(7);
  REQUIRE(test.b.env->disk().make_directory("/d").ok());
  REQUIRE(test.b.env->disk().replace("/d/kept", "kept").ok());
  SimClient idle(test.a.host);
  idle.connect(test.b.address, 5672);
  REQUIRE(test.world.run_until([&] { return idle.connected() && test.b.served.size() == 2; }));
  test.server().send("under way");
  test.client->send("under way too");
  test.b.host.power_off();
  test.b.destroy();
  test.world.run_for(60 * kSecondNs);
  CHECK(test.client->connected());
  CHECK(test.client->total_received() == 0);
  CHECK(test.connect(test.a, test.b) == std::pair(Code::kTimeout, std::uint64_t{5000}));
  CHECK(test.connect(test.b, test.a).first == Code::kTimeout);
  test.b.host.power_on();
  CHECK(test.b.host.clock().boot_ns() <= 20 * kSecondNs);
  CHECK(test.connect(test.a, test.b).first == Code::kRefused);
  REQUIRE(test.world.run_until([&] { return test.client->closed(); }));
  CHECK(test.client->why().text().find("reset") != std::string::npos);
  CHECK(test.client->total_received() == 0);
  CHECK(idle.connected());
  idle.send("?");
  REQUIRE(test.world.run_until([&] { return idle.closed(); }));
  CHECK(as_text(test.b.host.drive().content("/d/kept").value()) == "kept");
  test.b.start();
  CHECK(test.connect(test.a, test.b).first == Code::kOk);
}

TEST_CASE(
    "a suspended machine: its monotonic clock and its timers stand, its boot clock does not") {
  ThreeHosts test(8);
  Clock& clock = test.b.env->clock();
  const std::uint64_t monotonic_ms = clock.monotonic_ms();
  const std::uint64_t boot_ms = clock.boot_ms();
  const std::uint64_t wall_ms = clock.wall_ms();
  std::uint64_t fired_ms = 0;
  const auto timer = test.b.env->timers().make([&] { fired_ms = clock.monotonic_ms(); });
  timer->start(1000);
  test.world.run_for(400 * kMillisecondNs);
  test.b.host.suspend();
  test.client->send("hello");
  test.world.run_for(60 * kSecondNs);
  CHECK(test.client->connected());
  CHECK(test.server().read.empty());
  CHECK(test.connect(test.a, test.b).first == Code::kTimeout);  // takes 5 s
  CHECK(clock.monotonic_ms() - monotonic_ms == 400);
  CHECK(clock.boot_ms() - boot_ms == 65400);
  test.b.host.wake();
  test.world.run_for(599 * kMillisecondNs);
  CHECK(fired_ms == 0);
  test.world.run_for(2 * kMillisecondNs);
  CHECK(fired_ms - monotonic_ms == 1000);
  CHECK(clock.boot_ms() - boot_ms == 66001);
  CHECK(clock.wall_ms() - wall_ms == 66001);
  REQUIRE(test.world.run_until([&] { return test.server().read == "hello"; }));
}

TEST_CASE("clocks that run too fast, or too slow, and machines that began at different times") {
  SimWorld world(9);
  SimHost fast(world);
  SimHost slow(world);
  SimEnv fast_env(fast);
  SimEnv slow_env(slow);
  slow.clock().set_uptime_ns(1000 * kSecondNs);
  fast.clock().set_rate_error_ppm(10000);
  slow.clock().set_rate_error_ppm(-10000);
  int fast_fired = 0;
  int slow_fired = 0;
  const auto fast_timer = fast_env.timers().make([&] { ++fast_fired; });
  const auto slow_timer = slow_env.timers().make([&] { ++slow_fired; });
  fast_timer->start(100000);
  slow_timer->start(100000);
  world.run_for(99 * kSecondNs);
  CHECK(fast_env.clock().monotonic_ms() == 99990);
  CHECK(fast_env.clock().boot_ms() == 99990);
  CHECK(slow_env.clock().monotonic_ms() == 1000000 + 98010);
  CHECK(fast_fired == 0);
  world.run_for(20 * kMillisecondNs);
  CHECK(fast_fired == 1);
  world.run_until(101010 * kMillisecondNs);
  CHECK(slow_fired == 0);
  // One that goes slower than it did when the timer was started.
  fast_timer->start(1000);
  fast.clock().set_rate_error_ppm(-500000);
  world.run_for(1900 * kMillisecondNs);
  CHECK(fast_fired == 1);
  CHECK(slow_fired == 1);
  world.run_for(200 * kMillisecondNs);
  CHECK(fast_fired == 2);
}

TEST_CASE("faults of all kinds: the same seed gives the same run") {
  const auto run = [](std::uint64_t seed) {
    ThreeHosts test(seed);
    SimRng& rng = test.world.rng();
    for (int i = 0; i < 60; ++i) {
      FaultyHost* const hosts[] = {&test.a, &test.b, &test.c};
      FaultyHost& one = *hosts[rng.below(3)];
      FaultyHost& other = *hosts[rng.below(3)];
      test.client->send(letters(1 + rng.below(50000), seed));
      switch (rng.below(8)) {
        case 0:
          test.paths().cut(one.host, other.host);
          break;
        case 1:
          test.paths().heal_all();
          break;
        case 2:
          one.host.pause();
          break;
        case 3:
          one.host.resume();
          break;
        case 4:
          one.host.suspend();
          test.world.run_for(rng.below(kSecondNs));
          one.host.wake();
          break;
        case 5:
          one.host.kill_processes();
          one.destroy();
          one.start();
          break;
        case 6:
          one.host.power_off();
          one.destroy();
          test.world.run_for(rng.below(kSecondNs));
          one.host.power_on();
          one.start();
          break;
        default:
          test.client = std::make_unique<SimClient>(test.a.host);
          test.client->connect(other.address, 5672);
          break;
      }
      test.world.run_for(rng.below(500 * kMillisecondNs));
    }
    test.world.trace(test.client->total_received());
    return test.world.digest();
  };
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const std::uint64_t first = run(seed);
    CHECK(run(seed) == first);
    CHECK(run(seed + 100) != first);
  }
}

}  // namespace sim_host_test
