// Ways between hosts that are cut, slow, or both by turns.
#include "broker/runtime/sim/sim_paths.h"

#include <doctest/doctest.h>

#include <set>

#include "tests/unit/runtime/sim_faults.h"

namespace sim_paths_test {

using namespace ringtail::runtime;

TEST_CASE("a connection that is cut stalls, ends by itself never, and goes on in order") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    ThreeHosts test(seed);
    const std::string there = letters(200000, seed);
    const std::string back = letters(200000, seed + 1000);
    test.client->send(there.substr(0, 90000));
    test.server().send(back);
    test.world.run_for(300 * kMicrosecondNs);
    test.paths().cut_both(test.a.host, test.b.host);
    test.world.run_for(kMillisecondNs);
    const std::size_t before = test.server().read.size();
    test.client->send(there.substr(90000));
    test.world.run_for(600 * kSecondNs);
    CHECK(test.server().read.size() == before);
    CHECK(before < there.size());
    CHECK(test.client->connected());
    CHECK(test.server().closed == 0);

    test.paths().heal_both(test.a.host, test.b.host);
    REQUIRE(test.world.run_until([&] {
      return test.server().read.size() == there.size() &&
             test.client->total_received() == back.size();
    }));
    CHECK(test.server().read == there);
    CHECK(as_text(test.client->received()) == back);
    test.client->close();
    REQUIRE(test.world.run_until([&] { return test.server().closed == 1; }));
  }
}

TEST_CASE("what is sent while a way is cut arrives behind what was sent before, within seconds") {
  std::set<std::uint64_t> waits;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    ThreeHosts test(seed);
    test.paths().cut(test.a.host, test.b.host);
    test.client->send("one ");
    test.world.run_for(5 * kSecondNs);
    test.paths().heal(test.a.host, test.b.host);
    const std::uint64_t healed_ns = test.world.now_ns();
    test.client->send("two ");  // the way is open, the connection still stalls
    test.world.run_for(kMillisecondNs);
    test.client->send("three");
    REQUIRE(test.world.run_until([&] { return test.server().read.size() == 13; }));
    CHECK(test.server().read == "one two three");
    waits.insert((test.world.now_ns() - healed_ns) / (100 * kMillisecondNs));
    CHECK(test.world.now_ns() - healed_ns < 3 * kSecondNs);
  }
  CHECK(waits.size() > 5);
}

TEST_CASE("one direction cut: the other one carries until its acknowledgements are missing") {
  ThreeHosts test(3);
  test.paths().cut(test.a.host, test.b.host);
  test.client->send("lost for now");
  test.server().send("arrives");
  REQUIRE(test.world.run_until([&] { return test.client->received().size() == 7; }));
  test.world.run_for(10 * kSecondNs);
  CHECK(test.server().read.empty());
  // The kernel of b keeps what a has not acknowledged, and a cannot.
  const std::string much = letters(600000, 3);
  CHECK_FALSE(test.server().send(much));
  test.world.run_for(10 * kSecondNs);
  CHECK(test.client->total_received() > 7);
  CHECK(test.client->total_received() < much.size());
  test.paths().heal(test.a.host, test.b.host);
  REQUIRE(test.world.run_until([&] { return test.client->total_received() == 7 + much.size(); }));
  CHECK(test.server().read == "lost for now");
}

TEST_CASE("connecting over a cut way: no answer in time, or late") {
  ThreeHosts test(4);
  using Ways = std::pair<SimHost*, SimHost*>;
  for (const Ways& way : {Ways{&test.a.host, &test.b.host}, Ways{&test.b.host, &test.a.host}}) {
    test.paths().cut(*way.first, *way.second);
    CHECK(test.connect(test.a, test.b) == std::pair(Code::kTimeout, std::uint64_t{5000}));
    CHECK(test.connect(test.b, test.a, 300) == std::pair(Code::kTimeout, std::uint64_t{300}));
    CHECK(test.connect(test.a, test.c).first == Code::kOk);
    test.paths().heal_all();
  }
  CHECK(test.connect(test.a, test.b).second < 5);
  test.paths().cut_both(test.a.host, test.b.host);
  CHECK(test.connect(test.a, test.b, 0) == std::pair(Code::kTimeout, std::uint64_t{127000}));
  // The kernel asks after 1 s and after 3 s.
  test.world.after(1500 * kMillisecondNs, SimEventKind::kTimer, [&] { test.paths().heal_all(); });
  const auto late = test.connect(test.a, test.b);
  CHECK(late.first == Code::kOk);
  CHECK(late.second >= 3000);
  CHECK(late.second < 3010);
  test.b.listener.reset();
  CHECK(test.connect(test.a, test.b).first == Code::kRefused);
}

TEST_CASE("a slow way is slow in its direction alone") {
  ThreeHosts test(5);
  test.paths().set_delay(test.a.host, test.b.host, 50 * kMillisecondNs, 90 * kMillisecondNs);
  std::set<std::uint64_t> times;
  std::string sent;
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t start_ns = test.world.now_ns();
    sent += static_cast<char>('a' + i);
    test.client->send(sent.substr(sent.size() - 1));
    REQUIRE(test.world.run_until([&] { return test.server().read == sent; }));
    const std::uint64_t ms = (test.world.now_ns() - start_ns) / kMillisecondNs;
    CHECK(ms >= 50);
    CHECK(ms <= 91);
    times.insert(ms);
  }
  CHECK(times.size() > 5);
  const std::uint64_t start_ns = test.world.now_ns();
  test.server().send("x");
  REQUIRE(test.world.run_until([&] { return test.client->total_received() == 1; }));
  CHECK(test.world.now_ns() - start_ns < 2 * kMillisecondNs);
  CHECK(test.connect(test.a, test.b).second >= 50);
  test.paths().clear_delays();
  CHECK(test.connect(test.a, test.b).second < 2);
}

TEST_CASE("connections that stalled are reset by the healing, when chance says so") {
  ThreeHosts test(6);
  test.world.network().options().reset_on_heal = 1;
  SimClient idle(test.a.host);
  idle.connect(test.b.address, 5672);
  REQUIRE(test.world.run_until([&] { return idle.connected() && test.b.served.size() == 2; }));
  test.paths().cut_both(test.a.host, test.b.host);
  test.client->send("on its way");
  test.world.run_for(kSecondNs);
  test.paths().heal_all();
  REQUIRE(test.world.run_until([&] { return test.client->closed() && test.server().closed == 1; }));
  CHECK(test.client->why().code() == Code::kClosed);
  CHECK(test.server().read.empty());
  // One that had nothing under way has not noticed.
  test.world.run_for(10 * kSecondNs);
  CHECK(idle.connected());
  idle.send("well");
  REQUIRE(test.world.run_until([&] { return test.b.served[1]->read == "well"; }));
}

TEST_CASE("a reset that gets lost is noticed by who sends") {
  ThreeHosts test(7);
  test.paths().cut_both(test.a.host, test.b.host);
  test.client->abort();
  test.world.run_for(kSecondNs);
  test.paths().heal_all();
  test.world.run_for(60 * kSecondNs);
  CHECK(test.server().closed == 0);
  test.server().send("hello?");
  REQUIRE(test.world.run_until([&] { return test.server().closed == 1; }));

  // An end is sent again.
  SimClient ending(test.a.host);
  ending.connect(test.b.address, 5672);
  REQUIRE(test.world.run_until([&] { return ending.connected() && test.b.served.size() == 2; }));
  test.paths().cut_both(test.a.host, test.b.host);
  ending.close();
  test.world.run_for(60 * kSecondNs);
  CHECK(test.b.served[1]->closed == 0);
  test.paths().heal_all();
  REQUIRE(test.world.run_until([&] { return test.b.served[1]->closed == 1; }));
}

TEST_CASE("shapes") {
  ThreeHosts test(8);
  SimHost d(test.world, {"10.0.0.4"});
  SimHost& a = test.a.host;
  SimHost& b = test.b.host;
  SimHost& c = test.c.host;
  // Each open direction, as "ab".
  const auto open = [&] {
    std::string ways;
    const SimHosts hosts{&a, &b, &c, &d};
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      for (std::size_t j = 0; j < hosts.size(); ++j) {
        if (i == j || test.paths().blocked(hosts[i]->number(), hosts[j]->number())) continue;
        ways += {static_cast<char>('a' + i), static_cast<char>('a' + j), ' '};
      }
    }
    return ways;
  };
  test.paths().isolate(b);
  CHECK(open() == "ac ad ca cd da dc ");
  CHECK_FALSE(test.paths().blocked(b.number(), b.number()));
  test.paths().heal_all();
  test.paths().split({{&a, &b}, {&c}});  // d is a client, say
  CHECK(open() == "ab ad ba bd cd da db dc ");
  test.paths().split({{&a}, {&b, &c}});
  CHECK(open() == "ad bc bd cb cd da db dc ");
  test.paths().heal_all();
  test.paths().cut_between({&a, &b}, {&c});  // d is the bridge
  CHECK(open() == "ab ad ba bd cd da db dc ");
  test.paths().heal_between({&a, &b}, {&c});
  test.paths().cut_both(a, b);
  CHECK(open() == "ac ad bc bd ca cb cd da db dc ");
  test.paths().heal_both(a, b);
  test.paths().cut(a, b);
  CHECK(open() == "ac ad ba bc bd ca cb cd da db dc ");
}

TEST_CASE("a flapping way: everything arrives in the end, and every run of a seed is the same") {
  const auto run = [](std::uint64_t seed) {
    ThreeHosts test(seed);
    auto flapping = std::make_unique<SimFlapping>(test.world, SimHosts{&test.a.host},
                                                  SimHosts{&test.b.host}, SimFlapping::Times{});
    std::string sent;
    for (int i = 0; i < 100; ++i) {
      sent += letters(1000, seed + static_cast<std::uint64_t>(i));
      test.client->send(sent.substr(sent.size() - 1000));
      test.world.run_for(500 * kMillisecondNs);
    }
    CHECK(flapping->cuts() > 5);
    CHECK(test.connect(test.b, test.c).first == Code::kOk);
    flapping.reset();
    REQUIRE(test.world.run_until([&] { return test.server().read.size() == sent.size(); }));
    CHECK(test.server().read == sent);
    return test.world.digest();
  };
  const std::uint64_t first = run(9);
  CHECK(run(9) == first);
  CHECK(run(10) != first);
}

}  // namespace sim_paths_test
