// Nodes with links, for tests: a cluster whose membership the test plays, and two nodes.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "broker/runtime/sim/sim_net.h"
#include "tests/sim/link_node.h"

namespace ringtail::sim {

inline runtime::NodeId node_id(std::size_t number) {
  return runtime::NodeId{static_cast<std::uint32_t>(number + 1)};
}

struct LinkCluster {
  LinkCluster(std::uint64_t seed, std::vector<std::uint16_t> shards,
              const cluster::LinkTls* all_use = nullptr)
      : world(seed), layout(shards), tls(all_use) {
    for (std::size_t i = 0; i < shards.size(); ++i) {
      hosts.push_back(std::make_unique<runtime::SimHost>(
          world, std::vector<std::string>{"10.0.0." + std::to_string(i + 1)}));
      lives.push_back(0);
      nodes.push_back(nullptr);
      start(i);
    }
  }
  std::size_t size() const { return nodes.size(); }
  void start(std::size_t number) {
    nodes[number].reset();
    nodes[number] = std::make_unique<LinkNode>(*hosts[number], node_id(number), layout[number],
                                               counts, "cookie", tls);
  }
  // All are up in their next life, and know each other.
  void all_up() {
    for (std::size_t i = 0; i < size(); ++i) nodes[i]->set_life(++lives[i]);
    for (std::size_t i = 0; i < size(); ++i) {
      for (std::size_t j = 0; j < size(); ++j) {
        if (i != j) nodes[i]->up(nodes[j]->as_peer(lives[j]));
      }
    }
  }
  // Any actor to any other.
  void talk(std::size_t size_max) {
    runtime::SimRng& rng = world.rng();
    const std::size_t from = rng.below(size());
    const std::size_t to = (from + 1 + rng.below(size() - 1)) % size();
    if (nodes[from] == nullptr) return;
    const std::size_t shard = rng.below(layout[from]);
    nodes[from]->on_shard(shard, [&] {
      for (std::uint64_t i = 1 + rng.below(5); i > 0; --i) {
        nodes[from]->shard(shard).talk(rng.below(LinkShard::kActors), node_id(to),
                                       static_cast<std::uint16_t>(rng.below(layout[to])),
                                       rng.below(LinkShard::kActors), rng.below(size_max + 1));
      }
    });
  }
  // Cuts, slows down and heals ways between hosts, and lets processes stand still, by chance.
  void disturb() {
    runtime::SimRng& rng = world.rng();
    runtime::SimPaths& paths = world.network().paths();
    runtime::SimHost& one = *hosts[rng.below(size())];
    runtime::SimHost& other = *hosts[rng.below(size())];
    switch (rng.below(7)) {
      case 0:
        return paths.isolate(one);
      case 1:
        if (&one != &other) paths.cut_both(one, other);
        return;
      case 2:
        if (&one != &other) paths.cut(one, other);
        return;
      case 3:
        if (&one != &other) paths.set_delay(one, other, 0, 50 * runtime::kMillisecondNs);
        return;
      case 4:
        one.pause();
        return;
      default:
        return calm();
    }
  }
  void calm() {
    world.network().paths().heal_all();
    world.network().paths().clear_delays();
    for (const auto& host : hosts) host->resume();
  }
  void check() {
    CHECK(counts.wrong_order == 0);
    CHECK(counts.wrong_life == 0);
    CHECK(counts.wrong_text == 0);
  }
  bool all_arrived() const { return counts.received == counts.sent; }

  runtime::SimWorld world;
  std::vector<std::uint16_t> layout;
  const cluster::LinkTls* tls;
  LinkCounts counts;
  std::vector<std::unique_ptr<runtime::SimHost>> hosts;
  std::vector<cluster::NodeLife> lives;
  std::vector<std::unique_ptr<LinkNode>> nodes;
};

inline std::vector<std::uint16_t> random_layout(std::uint64_t seed) {
  runtime::SimRng rng(seed * 77);
  std::vector<std::uint16_t> layout;
  for (std::uint64_t i = 2 + rng.below(3); i > 0; --i) {
    layout.push_back(static_cast<std::uint16_t>(1 + rng.below(4)));
  }
  return layout;
}

inline void make_trouble(runtime::SimWorld& world) {
  runtime::SimNetOptions& net = world.network().options();
  net.reset = 0.01 * static_cast<double>(world.rng().below(3));
  net.refuse = 0.1 * static_cast<double>(world.rng().below(4));
  net.kernel_buffer_min = 1000;
  world.set_buggify(world.rng().chance(0.5));
}

// Node 2 is asked for by node 1.
struct TwoNodes {
  explicit TwoNodes(std::uint64_t seed = 1, const std::string& second_cookie = "cookie",
                    const cluster::LinkTls* first_tls = nullptr,
                    const cluster::LinkTls* second_tls = nullptr)
      : world(seed), host_a(world, {"10.0.0.1"}), host_b(world, {"10.0.0.2"}) {
    world.network().set_name("host-b", {"10.0.0.9", "10.0.0.2"});
    a = std::make_unique<LinkNode>(host_a, runtime::NodeId{1}, 1, counts, "cookie", first_tls);
    b = std::make_unique<LinkNode>(host_b, runtime::NodeId{2}, 1, counts, second_cookie,
                                   second_tls);
  }
  void link(const std::string& to = "10.0.0.2") {
    a->on_control([&] {
      a->hub().control().add_peer(runtime::NodeId{2}, "rabbit@b", {{to, LinkNode::kPort}});
    });
  }
  bool connected() {
    return world.run_until([&] { return a->connected[runtime::NodeId{2}] > 0; },
                           20 * runtime::kSecondNs);
  }
  bool send(cluster::ControlKind kind, const std::string& header, const std::string& body = "") {
    bool sent = false;
    a->on_control([&] {
      runtime::OutChain chain;
      chain.append(runtime::Bytes::copy(runtime::as_bytes(body)));
      sent = a->hub().control().send(runtime::NodeId{2}, kind, header, chain);
      CHECK(chain.empty());
    });
    return sent;
  }
  std::optional<runtime::Result<cluster::ControlAnswer>> ask(const std::string& host,
                                                             const std::string& question) {
    std::optional<runtime::Result<cluster::ControlAnswer>> answer;
    a->on_control([&] {
      a->hub().control().ask(
          {host, LinkNode::kPort}, question, 3000,
          [&](runtime::Result<cluster::ControlAnswer> got) { answer = std::move(got); });
    });
    REQUIRE(world.run_until([&] { return answer.has_value(); }, 10 * runtime::kSecondNs));
    return answer;
  }

  runtime::SimWorld world;
  runtime::SimHost host_a;
  runtime::SimHost host_b;
  LinkCounts counts;
  std::unique_ptr<LinkNode> a;
  std::unique_ptr<LinkNode> b;
};

}  // namespace ringtail::sim
