// Clock, timers and chance on a libuv loop.
#include "broker/runtime/uv/uv_env.h"

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <set>

#include "tests/unit/runtime/uv_fixture.h"

namespace uv_env_test {

using namespace ringtail::runtime;

TEST_CASE("timer: fires once, not inside start") {
  UvFixture uv;
  int fired = 0;
  const auto timer = uv.env().timers().make([&] { ++fired; });
  const auto later = uv.env().timers().make([&] { fired += 100; });
  timer->start(0);
  CHECK(fired == 0);
  later->start(5);
  uv.run_until([&] { return fired >= 100; });
  CHECK(fired == 101);
}

TEST_CASE("timer: repeats until it is stopped; starting again moves it") {
  UvFixture uv;
  int fired = 0;
  std::unique_ptr<Timer> timer = uv.env().timers().make([&] {
    if (++fired == 3) timer->stop();
  });
  timer->start(100000);
  timer->start(1, 1);
  bool over = false;
  const auto end = uv.env().timers().make([&] { over = true; });
  uv.run_until([&] { return fired == 3; });
  end->start(5);
  uv.run_until([&] { return over; });
  CHECK(fired == 3);
}

TEST_CASE("timer: may be destroyed by its own call; a stopped one never fires") {
  UvFixture uv;
  bool fired = false;
  bool wrong = false;
  std::unique_ptr<Timer> timer;
  std::unique_ptr<Timer> stopped = uv.env().timers().make([&] { wrong = true; });
  std::unique_ptr<Timer> destroyed = uv.env().timers().make([&] { wrong = true; });
  stopped->start(1);
  destroyed->start(1);
  stopped->stop();
  destroyed.reset();
  timer = uv.env().timers().make([&, big = std::array<char, 100>{}] {
    timer.reset();
    fired = big[99] == 0;
  });
  timer->start(3);
  uv.run_until([&] { return fired; });
  CHECK_FALSE(wrong);
}

TEST_CASE("clock: goes forward") {
  UvFixture uv;
  Clock& clock = uv.env().clock();
  const std::uint64_t start_ms = clock.monotonic_ms();
  const std::uint64_t start_boot_ms = clock.boot_ms();
  const std::uint64_t start_ns = clock.monotonic_ns();
  bool fired = false;
  const auto timer = uv.env().timers().make([&] { fired = true; });
  timer->start(20);
  uv.run_until([&] { return fired; });
  CHECK(clock.monotonic_ms() - start_ms >= 20);
  CHECK(clock.monotonic_ns() > start_ns);
  CHECK(clock.boot_ms() - start_boot_ms >= 20);
  // Both begin with the machine, and only one counts what it slept.
  CHECK(clock.boot_ms() >= clock.monotonic_ms());
  CHECK(clock.wall_ms() > 1700000000000);
}

TEST_CASE("rng: differs between two loops, and keeps to its bound") {
  UvFixture first;
  UvFixture second;
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 100; ++i) {
    seen.insert(first.env().rng().next());
    seen.insert(second.env().rng().next());
    CHECK(first.env().rng().below(7) < 7);
  }
  CHECK(seen.size() == 200);
  std::array<std::uint8_t, 64> secret{};
  std::array<std::uint8_t, 64> other{};
  first.env().rng().fill_secure(secret);
  first.env().rng().fill_secure(other);
  CHECK(secret != other);
}

}  // namespace uv_env_test
