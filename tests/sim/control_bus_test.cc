// The control links between simulated nodes, and the questions before membership.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "cluster/link_limits.h"
#include "tests/sim/link_cluster.h"
#include "tests/sim/seeds.h"

namespace control_bus_test {

using namespace ringtail;
using namespace ringtail::sim;
using cluster::LinkEnd;
using runtime::kMillisecondNs;
using runtime::kSecondNs;
using runtime::NodeId;
using runtime::OutChain;

TEST_CASE("control: messages arrive, with the sender's node and life") {
  TwoNodes two;
  two.a->set_life(5);
  CHECK_FALSE(two.send(1, "too early"));
  two.link();
  REQUIRE(two.connected());
  CHECK(two.send(7, "header", "body"));
  two.a->set_life(6);
  CHECK(two.send(8, ""));
  REQUIRE(two.world.run_until([&] { return two.b->messages.size() == 2; }));
  CHECK(two.b->messages[0].from == NodeId{1});
  CHECK(two.b->messages[0].life == 5);
  CHECK(two.b->messages[0].kind == 7);
  CHECK(two.b->messages[0].header == "header");
  CHECK(two.b->messages[0].body == "body");
  CHECK(two.b->messages[1].life == 6);
  CHECK(two.b->messages[1].kind == 8);
  // Only one way was asked for.
  CHECK(two.b->connected.empty());
  CHECK(two.b->hub().control().is_heard(NodeId{1}));
}

TEST_CASE("control: by host name, with an address that does not answer in front") {
  TwoNodes two;
  two.link("host-b");
  REQUIRE(two.connected());
  TwoNodes nameless;
  nameless.link("host-c");
  REQUIRE(nameless.world.run_until([&] { return !nameless.a->disconnected.empty(); }));
  CHECK(nameless.a->disconnected[NodeId{2}].front() == LinkEnd::kUnreachable);
}

TEST_CASE("control: what waits is bounded") {
  TwoNodes two;
  two.link();
  REQUIRE(two.connected());
  const std::string half(50 * 1024, 'x');
  std::size_t taken = 0;
  two.a->on_control([&] {
    while (taken < 10'000) {
      OutChain body;
      body.append_copy(half.data(), half.size());
      if (!two.a->hub().control().send(NodeId{2}, 1, "", body)) break;
      ++taken;
    }
  });
  CHECK(taken * half.size() > cluster::kUrgentWaitingMax / 2);
  CHECK(taken * half.size() <= cluster::kUrgentWaitingMax);
  REQUIRE(two.world.run_until([&] { return two.b->messages.size() == taken; }));
  CHECK(two.send(1, "again"));
}

TEST_CASE("control: why a link is not there") {
  TwoNodes two;
  const NodeId b{2};
  SUBCASE("the process is gone: closed, then refused, within a few round trips") {
    two.link();
    REQUIRE(two.connected());
    two.b.reset();
    const std::uint64_t gone_ns = two.world.now_ns();
    REQUIRE(two.world.run_until([&] { return two.a->disconnected[b].size() >= 2; }));
    CHECK(two.a->disconnected[b][0] == LinkEnd::kClosed);
    CHECK(two.a->disconnected[b][1] == LinkEnd::kRefused);
    CHECK(two.world.now_ns() - gone_ns < 3 * kMillisecondNs);
    CHECK_FALSE(two.send(1, "nobody"));
    // It is back: tried ever more slowly, and at once when it has called.
    two.world.run_for(20 * kSecondNs);
    two.b = std::make_unique<LinkNode>(two.host_b, b, 1, two.counts);
    two.b->on_control([&] {
      two.b->hub().control().add_peer(NodeId{1}, "a", {{"10.0.0.1", LinkNode::kPort}});
    });
    REQUIRE(two.world.run_until([&] { return two.a->connected[b] == 2; }, 20 * kMillisecondNs));
  }
  SUBCASE("never there: refused, with ever longer waits") {
    two.b.reset();
    two.link();
    two.world.run_for(1 * kSecondNs);
    const std::size_t at_first = two.a->disconnected[b].size();
    CHECK(at_first >= 4);
    two.world.run_for(60 * kSecondNs);
    const std::size_t later = two.a->disconnected[b].size() - at_first;
    CHECK(later >= 25);
    CHECK(later <= 65);
    for (const LinkEnd end : two.a->disconnected[b]) CHECK(end == LinkEnd::kRefused);
  }
  SUBCASE("another cookie") {
    two.b = nullptr;
    two.b = std::make_unique<LinkNode>(two.host_b, b, 1, two.counts, "another");
    two.link();
    two.world.run_for(1 * kSecondNs);
    REQUIRE(!two.a->disconnected[b].empty());
    for (const LinkEnd end : two.a->disconnected[b]) CHECK(end == LinkEnd::kClosed);
    CHECK(two.a->connected.empty());
  }
  SUBCASE("another node listens there") {
    two.a->on_control([&] {
      two.a->hub().control().add_peer(NodeId{3}, "c", {{"10.0.0.2", LinkNode::kPort}});
    });
    two.world.run_for(1 * kSecondNs);
    REQUIRE(!two.a->disconnected[NodeId{3}].empty());
    CHECK(two.a->disconnected[NodeId{3}].front() == LinkEnd::kRejected);
  }
  SUBCASE("an admission of the owner's") {
    two.b->on_control([&] {
      two.b->hub().set_control_admission([](const cluster::LinkHello& hello, std::string& reason) {
        reason = "not " + hello.identity.name;
        return cluster::Refusal::kUnknownNode;
      });
    });
    two.link();
    two.world.run_for(1 * kSecondNs);
    REQUIRE(!two.a->disconnected[b].empty());
    CHECK(two.a->disconnected[b].front() == LinkEnd::kRejected);
  }
}

TEST_CASE("control: whoever listens and says nothing is a timeout") {
  TwoNodes two;
  two.b.reset();
  runtime::SimEnv silent(two.host_b);
  std::vector<std::unique_ptr<runtime::AcceptedSocket>> kept;
  auto listener = silent.net().listen("10.0.0.2", LinkNode::kPort,
                                      [&](auto socket) { kept.push_back(std::move(socket)); });
  REQUIRE(listener.ok());
  two.link();
  REQUIRE(two.world.run_until([&] { return !two.a->disconnected.empty(); }));
  CHECK(two.a->disconnected[NodeId{2}].front() == LinkEnd::kTimeout);
  CHECK(two.world.now_ns() >= 2 * kSecondNs);
  CHECK(two.world.now_ns() < 3 * kSecondNs);
}

TEST_CASE("control: a peer can be removed, from its own calls too, and nothing is told after") {
  TwoNodes two;
  two.link();
  REQUIRE(two.connected());
  two.a->on_control([&] { two.a->hub().control().remove_peer(NodeId{2}); });
  two.world.run_for(5 * kSecondNs);
  CHECK(two.a->disconnected.empty());
  CHECK_FALSE(two.send(1, "gone"));
  two.link();
  REQUIRE(two.world.run_until([&] { return two.a->connected[NodeId{2}] == 2; }));
}

TEST_CASE("control: an idle link stays") {
  TwoNodes two;
  two.link();
  REQUIRE(two.connected());
  two.world.run_for(60 * kSecondNs);
  CHECK(two.a->disconnected.empty());
  CHECK(two.b->hub().control().is_heard(NodeId{1}));
}

TEST_CASE("control: a question before membership, and its answer") {
  TwoNodes two;
  cluster::LinkIdentity stranger = two.a->identity(0);
  stranger.cluster = {};
  two.a->on_control([&] { two.a->hub().set_own(stranger); });
  const auto answer = two.ask("host-b", "may I join?");
  REQUIRE(answer->ok());
  CHECK(answer->value().text == "?nioj I yam");
  CHECK(answer->value().from == two.b->identity(0));
  CHECK(two.b->questions == std::vector<std::string>{"rabbit@10.0.0.1: may I join?"});
  const std::string large(5 * 1024 * 1024, 'q');
  const auto second = two.ask("10.0.0.2", large);
  REQUIRE(second->ok());
  CHECK(second->value().text == large);
  // A node may ask itself: who forms a cluster has its own address in the list.
  CHECK(two.ask("10.0.0.1", "me?")->ok());
}

TEST_CASE("control: questions that have no answer") {
  TwoNodes two(1, "another cookie");
  CHECK(two.ask("10.0.0.2", "q")->status().code() == runtime::Code::kClosed);
  two.b.reset();
  CHECK(two.ask("10.0.0.2", "q")->status().code() == runtime::Code::kRefused);
  CHECK(two.ask("no-such-host", "q")->status().code() == runtime::Code::kNotFound);
}

TEST_CASE("control: with resets and every size of read, what arrives is whole") {
  const std::uint64_t last = first_seed() + seeds(20);
  for (std::uint64_t seed = first_seed(); seed < last; ++seed) {
    CAPTURE(seed);
    TwoNodes two(seed);
    runtime::SimRng& rng = two.world.rng();
    two.world.network().options().reset = 0.002;
    two.world.network().options().refuse = 0.2;
    two.world.set_buggify(rng.chance(0.5));
    two.link();
    std::uint64_t sent = 0;
    for (int i = 0; i < 400; ++i) {
      const std::size_t size = rng.chance(0.1) ? 200'000 : rng.below(3000);
      if (two.send(3, std::to_string(i), talk_text(static_cast<std::uint64_t>(i), size))) ++sent;
      two.world.run_for(rng.below(3 * kMillisecondNs));
    }
    two.world.run_for(2 * kSecondNs);
    CHECK(two.b->messages.size() <= sent);
    CHECK(two.b->messages.size() > sent / 2);
    int last_small = -1;
    for (const LinkNode::Message& message : two.b->messages) {
      const int number = std::stoi(message.header);
      CHECK(message.body == talk_text(static_cast<std::uint64_t>(number), message.body.size()));
      if (message.body.size() > 100'000) continue;
      CHECK(number > last_small);
      last_small = number;
    }
  }
}

TEST_CASE("control: a way that is cut is silence, and heals by itself") {
  TwoNodes two;
  two.link();
  REQUIRE(two.connected());
  runtime::SimPaths& paths = two.world.network().paths();
  SUBCASE("both directions") { paths.cut_both(two.host_a, two.host_b); }
  SUBCASE("there") { paths.cut(two.host_a, two.host_b); }
  SUBCASE("back") { paths.cut(two.host_b, two.host_a); }
  two.world.run_for(1700 * kMillisecondNs);
  CHECK(two.a->disconnected.empty());
  two.world.run_for(900 * kMillisecondNs);
  REQUIRE(!two.a->disconnected.empty());
  CHECK(two.a->disconnected[NodeId{2}].front() == LinkEnd::kTimeout);
  two.world.run_for(20 * kSecondNs);
  for (const LinkEnd end : two.a->disconnected[NodeId{2}]) CHECK(end == LinkEnd::kTimeout);
  CHECK_FALSE(two.b->hub().control().is_heard(NodeId{1}));
  paths.heal_all();
  CHECK(two.world.run_until([&] { return two.a->connected[NodeId{2}] == 2; }, 5 * kSecondNs));
}

TEST_CASE("control: a process that stood still is silent, and calls nobody else so") {
  TwoNodes two;
  two.link();
  two.b->on_control([&] {
    two.b->hub().control().add_peer(NodeId{1}, "a", {{"10.0.0.1", LinkNode::kPort}});
  });
  REQUIRE(two.connected());
  two.world.run_for(kSecondNs);
  REQUIRE(two.b->connected[NodeId{1}] == 1);
  two.host_b.pause();
  two.world.run_for(3 * kSecondNs);
  CHECK(two.a->disconnected[NodeId{2}].front() == LinkEnd::kTimeout);
  two.host_b.resume();
  two.world.run_for(5 * kSecondNs);
  CHECK(two.b->disconnected.empty());
  CHECK(two.a->hub().control().is_connected(NodeId{2}));
}

}  // namespace control_bus_test
