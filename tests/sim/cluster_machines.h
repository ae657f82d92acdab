// Machines with nodes of a cluster on them, and what tests look for in all of them.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/metadata/commands_codec.h"
#include "tests/sim/sim_cluster.h"

namespace ringtail::sim {

using cluster::metadata::Command;
using cluster::metadata::CommandResult;
using cluster::metadata::DeclareQueue;
using cluster::metadata::Outcome;
using runtime::kMillisecondNs;
using runtime::kSecondNs;

// What every replica must have alike; how far the proposals of each node have been counted is known
// to the owners alone.
inline std::string replica_text(const cluster::metadata::Store& store) {
  cluster::metadata::SavedState saved = store.save();
  for (auto& one : saved.nodes) one.last_request = 0;
  return encode(saved);
}

// Machines and what runs on them; numbers from 1.
class Cluster {
 public:
  explicit Cluster(std::uint64_t seed, std::uint32_t machines) : world(seed) {
    for (std::uint32_t i = 1; i <= machines; ++i) {
      hosts_.push_back(std::make_unique<runtime::SimHost>(
          world, std::vector<std::string>{ClusterNode::host_of(i)}));
      nodes_.emplace_back();
    }
    for (std::uint32_t i = 1; i <= machines; ++i) {
      together.listed.push_back(
          {{}, ClusterNode::name_of(i), {ClusterNode::host_of(i), kClusterPort}});
    }
  }
  ~Cluster() {
    for (auto& one : nodes_) one.reset();
  }

  std::uint32_t size() const { return static_cast<std::uint32_t>(hosts_.size()); }
  runtime::SimHost& host(std::uint32_t number) { return *hosts_[number - 1]; }
  ClusterNode* node(std::uint32_t number) { return nodes_[number - 1].get(); }
  ClusterNode& start(std::uint32_t number, const SimClusterOptions& options) {
    nodes_[number - 1] = std::make_unique<ClusterNode>(host(number), number, options);
    return *node(number);
  }
  void start_all() {
    for (std::uint32_t i = 1; i <= size(); ++i) start(i, together);
  }
  void kill(std::uint32_t number) { nodes_[number - 1].reset(); }
  // The machine loses power, and what was not synced may be lost.
  void crash(std::uint32_t number) {
    kill(number);
    host(number).drive().crash();
  }
  bool run_until(const std::function<bool()>& condition, std::uint64_t seconds = 60) {
    return world.run_until(condition, seconds * kSecondNs);
  }
  bool all_serve() {
    return std::all_of(nodes_.begin(), nodes_.end(),
                       [](const auto& one) { return one == nullptr || one->serves(); });
  }
  // Every node that runs has a lease, knows the same nodes as up, and has the same metadata.
  bool is_one() {
    std::optional<std::string> first;
    std::size_t running = 0;
    for (const auto& one : nodes_) {
      if (one == nullptr) continue;
      ++running;
      if (!one->serves() || !one->control().holds_lease()) return false;
      if (!votes(*one)) return false;
    }
    for (const auto& one : nodes_) {
      if (one == nullptr) continue;
      for (std::size_t shard = 0; shard < one->shards(); ++shard) {
        const std::string text = replica_text(one->store(shard));
        std::size_t up = 0;
        one->store(shard).for_each_node([&up](const auto& record) { up += record->up ? 1 : 0; });
        if (up != running || text != first.value_or(text)) return false;
        first = text;
      }
    }
    return true;
  }
  // As far as everybody knows.
  bool votes(const ClusterNode& who) {
    return std::all_of(nodes_.begin(), nodes_.end(), [&who](const auto& one) {
      if (one == nullptr) return true;
      const auto members = one->control().raft().members();
      return std::any_of(members.begin(), members.end(), [&who](const auto& server) {
        return server.id == who.id() && server.role == cluster::raft::Role::kVoter;
      });
    });
  }
  // Checked at every step of a run: at most one leads in each term.
  void check_leaders() {
    for (const auto& one : nodes_) {
      if (one == nullptr || !one->control().raft().leads()) continue;
      const auto [known, added] = leaders_.emplace(one->control().raft().term(), one->id());
      CHECK(known->second == one->id());
    }
  }
  // Whoever holds a lease is up in that life, as far as anybody knows. Returns how many lives of
  // nodes that run are known to be over.
  int check_leases() {
    int over = 0;
    for (const auto& one : nodes_) {
      if (one == nullptr || !one->serves()) continue;
      const auto life = one->control().metadata().life();
      for (const auto& other : nodes_) {
        if (other == nullptr || !other->serves()) continue;
        const auto record = other->control().metadata().store().node(one->id());
        const bool ended =
            record == nullptr || record->life > life || (record->life == life && !record->up);
        over += ended ? 1 : 0;
        if (ended) CHECK_FALSE(one->control().holds_lease());
      }
    }
    return over;
  }
  CommandResult propose(std::uint32_t number, Command command) {
    std::optional<CommandResult> result;
    node(number)->propose(0, std::move(command),
                          [&result](const CommandResult& answer) { result = answer; });
    CHECK(run_until([&] { return result.has_value(); }, 20));
    return result.value_or(CommandResult{Outcome::kUnavailable, nullptr, nullptr});
  }

  runtime::SimWorld world;
  SimClusterOptions together;

 private:
  std::vector<std::unique_ptr<runtime::SimHost>> hosts_;
  std::vector<std::unique_ptr<ClusterNode>> nodes_;
  std::map<cluster::raft::Term, runtime::NodeId> leaders_;
};

inline DeclareQueue queue(const std::string& name, const ClusterNode& home) {
  DeclareQueue command;
  command.record.vhost = "/";
  command.record.name = name;
  command.record.durable = true;
  command.record.home = home.id();
  return command;
}

}  // namespace ringtail::sim
