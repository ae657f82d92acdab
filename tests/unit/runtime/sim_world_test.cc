#include "broker/runtime/sim/sim_world.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "broker/runtime/sim/sim_env.h"

namespace sim_world_test {

using namespace ringtail::runtime;

TEST_CASE("events run by time, then in the order in which they were made") {
  SimWorld world(1);
  std::string order;
  world.at(20, SimEventKind::kWork, [&] { order += 'c'; });
  world.at(10, SimEventKind::kWork, [&] {
    order += 'a';
    world.at(5, SimEventKind::kWork, [&] { order += 'x'; });  // past: now, behind what is there
  });
  world.at(10, SimEventKind::kWork, [&] { order += 'b'; });
  const SimEventId never = world.at(15, SimEventKind::kWork, [&] { order += '!'; });
  world.cancel(never);
  world.cancel(never);
  world.run_until(19);
  CHECK(order == "abx");
  CHECK(world.now_ns() == 19);
  CHECK(world.step());
  CHECK(order == "abxc");
  CHECK(world.now_ns() == 20);
  CHECK_FALSE(world.step());
}

TEST_CASE("running until a condition, or in vain") {
  SimWorld world(1);
  int count = 0;
  std::function<void()> tick = [&] {
    ++count;
    world.after(kMillisecondNs, SimEventKind::kTimer, tick);
  };
  tick();
  CHECK(world.run_until([&] { return count == 5; }));
  CHECK(world.now_ns() == 4 * kMillisecondNs);
  CHECK_FALSE(world.run_until([] { return false; }, 10 * kMillisecondNs));
  CHECK(count == 15);
  // Only a timer is left: idle.
  CHECK(world.run_until_idle());
  CHECK(count == 15);
  world.after(3 * kMillisecondNs, SimEventKind::kWork, [] {});
  CHECK(world.run_until_idle());
  CHECK(count >= 17);
  world.after(3 * kSecondNs, SimEventKind::kWork, [] {});
  CHECK_FALSE(world.run_until_idle(kSecondNs));
}

TEST_CASE("chance comes from the seed alone") {
  SimRng one(7);
  SimRng same(7);
  SimRng other(8);
  CHECK(one.next() == same.next());
  CHECK(one.next() != other.next());
  int hits = 0;
  for (int i = 0; i < 10000; ++i) {
    hits += one.chance(0.3) ? 1 : 0;
    const std::uint64_t value = one.between(5, 9);
    CHECK_MESSAGE((value >= 5 && value <= 9), value);
  }
  CHECK(hits > 2800);
  CHECK(hits < 3200);
  CHECK_FALSE(one.chance(0));
  CHECK(one.chance(1));
}

TEST_CASE("buggify fires only where a world has switched it on, at a quarter of the spots") {
  CHECK_FALSE(RT_BUGGIFY(1.0));
  int on = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SimWorld world(seed);
    CHECK_FALSE(RT_BUGGIFY(1.0));
    world.set_buggify(true);
    const auto spot = [] { return RT_BUGGIFY(1.0); };
    const bool first = spot();
    CHECK(spot() == first);  // a spot is on or off for the whole run
    on += first ? 1 : 0;
  }
  CHECK(on > 60);
  CHECK(on < 140);
  CHECK_FALSE(RT_BUGGIFY(1.0));  // the last world has taken it with it
}

TEST_CASE("clocks") {
  SimWorld world(1);
  SimHost host(world);
  SimHost skewed(world);
  skewed.set_wall_skew_ms(-500);
  SimEnv env(host);
  SimEnv skewed_env(skewed);
  world.run_for(1500 * kMicrosecondNs);
  CHECK(env.clock().monotonic_ms() == 1);
  CHECK(env.clock().monotonic_ns() == 1500000);
  CHECK(env.clock().wall_ms() == skewed_env.clock().wall_ms() + 500);
  CHECK(env.clock().boot_ms() == 1);
  host.jump_boot_ms(3000);
  CHECK(env.clock().boot_ms() == 3001);
  CHECK(env.clock().monotonic_ms() == 1);
  CHECK(skewed_env.clock().boot_ms() == 1);
}

TEST_CASE("timers fire once or again and again, at the exact time, never when stopped") {
  SimWorld world(1);
  SimHost host(world);
  SimEnv env(host);
  std::vector<std::uint64_t> fired;
  auto timer = env.timers().make([&] { fired.push_back(env.clock().monotonic_ms()); });
  timer->start(5);
  CHECK(fired.empty());
  world.run_for(20 * kMillisecondNs);
  CHECK(fired == std::vector<std::uint64_t>{5});
  fired.clear();
  timer->start(10, 3);
  world.run_until(37 * kMillisecondNs);
  CHECK(fired == std::vector<std::uint64_t>{30, 33, 36});
  fired.clear();
  timer->start(100);  // restarts: no more at 39
  world.run_until(136 * kMillisecondNs);
  CHECK(fired.empty());
  timer->stop();
  world.run_for(kSecondNs);
  CHECK(fired.empty());
  timer->start(1);
  timer.reset();
  world.run_for(kSecondNs);
  CHECK(fired.empty());
}

TEST_CASE("a timer's callback may stop or destroy it, repeating or not") {
  SimWorld world(1);
  SimHost host(world);
  SimEnv env(host);
  int fired = 0;
  std::unique_ptr<Timer> dying;
  std::unique_ptr<Timer> stopping;
  // The capture is used after the timer is gone: the function must outlive it.
  dying = env.timers().make([&dying, &fired, keep = std::make_shared<int>(41)] {
    dying.reset();
    fired += *keep;
  });
  dying->start(1, 1);
  stopping = env.timers().make([&] {
    ++fired;
    stopping->stop();
  });
  stopping->start(2, 1);
  world.run_for(kSecondNs);
  CHECK(fired == 42);
}

}  // namespace sim_world_test
