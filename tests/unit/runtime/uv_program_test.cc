#include "broker/runtime/uv/uv_program.h"

#include <doctest/doctest.h>

#include <csignal>
#include <cstdint>
#include <memory>
#include <vector>

namespace uv_program_test {

using ringtail::runtime::Alarm;
using ringtail::runtime::UvProgram;

TEST_CASE("an alarm rings when it is set for, not before") {
  UvProgram program([](int) {});
  const std::uint64_t due_ns = program.env().clock().monotonic_ns() + 2300000;
  std::uint64_t rung_ns = 0;
  const auto alarm = program.make_alarm([&] {
    rung_ns = program.env().clock().monotonic_ns();
    program.stop();
  });
  alarm->set(due_ns);
  program.run();
  CHECK(rung_ns >= due_ns);
}

TEST_CASE("a time that has come rings in the next iteration, again and again") {
  UvProgram program([](int) {});
  int rings = 0;
  std::unique_ptr<Alarm> alarm = program.make_alarm([&] {
    if (++rings == 5) {
      program.stop();
    } else {
      alarm->set(rings % 2 == 0 ? 0 : program.env().clock().monotonic_ns());
    }
  });
  alarm->set(0);
  CHECK(rings == 0);  // never inside set()
  program.run();
  CHECK(rings == 5);
}

TEST_CASE("a new time replaces the old one, a stopped alarm is silent") {
  UvProgram program([](int) {});
  std::vector<int> order;
  const auto replaced = program.make_alarm([&] { order.push_back(1); });
  const auto stopped = program.make_alarm([&] { order.push_back(2); });
  const auto last = program.make_alarm([&] {
    order.push_back(3);
    program.stop();
  });
  const std::uint64_t now_ns = program.env().clock().monotonic_ns();
  replaced->set(now_ns + 3600000000000);
  replaced->set(now_ns + 500000);
  stopped->set(0);
  stopped->set(now_ns + 600000);
  stopped->stop();
  last->set(now_ns + 3000000);
  program.run();
  CHECK(order == std::vector<int>{1, 3});
}

TEST_CASE("an alarm may be destroyed while it rings") {
  UvProgram program([](int) {});
  for (const std::uint64_t ahead_ns : {0, 100000}) {
    bool rung = false;
    std::unique_ptr<Alarm> alarm;
    alarm = program.make_alarm([&] {
      rung = true;
      program.stop();
      alarm.reset();
    });
    alarm->set(ahead_ns == 0 ? 0 : program.env().clock().monotonic_ns() + ahead_ns);
    program.run();
    CHECK(rung);
  }
}

TEST_CASE("SIGINT and SIGTERM are reported") {
  std::vector<int> received;
  UvProgram* running = nullptr;
  UvProgram program([&](int number) {
    received.push_back(number);
    if (received.size() == 2) {
      running->stop();
    } else {
      std::raise(SIGTERM);
    }
  });
  running = &program;
  std::raise(SIGINT);
  program.run();
  CHECK(received == std::vector<int>{SIGINT, SIGTERM});
}

TEST_CASE("host names become addresses") {
  CHECK(UvProgram::resolve("127.0.0.1").value() == "127.0.0.1");
  CHECK(UvProgram::resolve("::1").value() == "::1");
  CHECK_FALSE(UvProgram::resolve("no.such.name.invalid").ok());
}

}  // namespace uv_program_test
