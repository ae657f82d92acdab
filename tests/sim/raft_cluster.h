// Nodes of Raft in one simulated world, on a network of their own that delays, loses, repeats and
// reorders; and what must always hold, checked while they run:
//  - at most one leader in a term;
//  - every node applies the same at every index, and everything in order;
//  - what a proposer was told is applied is never missing;
//  - files and memory stay small when there are snapshots.
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "broker/runtime/sim/sim_env.h"
#include "cluster/raft/raft_node.h"

namespace ringtail::sim {

namespace raft = cluster::raft;
using runtime::NodeId;

struct RaftNetOptions {
  std::uint64_t least_ns = 100 * runtime::kMicrosecondNs;
  std::uint64_t most_ns = 600 * runtime::kMicrosecondNs;
  double loss = 0;
  double repeat = 0;
  double late = 0;  // comes up to 50 ms later, behind others
};

class RaftCluster;

// What the nodes agree on: a list of texts, with the index of each.
class ListMachine final : public raft::RaftMachine {
 public:
  ListMachine(RaftCluster& cluster, runtime::SimEnv& env) : cluster_(cluster), env_(env) {}
  void apply(raft::Index index, raft::Term term, std::string_view payload) override;
  void snapshot(std::function<void(runtime::BytesChain)> done) override;
  runtime::Status restore(std::string_view bytes) override;
  const std::map<raft::Index, std::string>& applied() const { return applied_; }

 private:
  RaftCluster& cluster_;
  runtime::SimEnv& env_;
  std::map<raft::Index, std::string> applied_;
};

// One process. Its host outlives it.
class RaftProcess final : public raft::Transport {
 public:
  RaftProcess(RaftCluster& cluster, runtime::SimHost& host, NodeId id);
  ~RaftProcess() override;
  void begin(bool bootstrap);
  void send(NodeId to, std::string header, runtime::Bytes body) override;
  // Runs something on its loop.
  void enter(const std::function<void()>& run) { env_.enter(run); }

  raft::RaftNode& node() { return *node_; }
  ListMachine& machine() { return machine_; }
  NodeId id() const { return id_; }
  bool up() const { return up_; }
  const runtime::Status& lost() const { return lost_; }

 private:
  void after_callback();
  void start();

  RaftCluster& cluster_;
  runtime::SimHost& host_;
  const NodeId id_;
  runtime::SimEnv env_;
  ListMachine machine_;
  bool turn_end_ = false;
  bool up_ = false;
  runtime::Status lost_;
  std::unique_ptr<raft::RaftNode> node_;
};

class RaftCluster {
 public:
  RaftCluster(std::uint64_t seed, raft::RaftNodeOptions options);
  ~RaftCluster();

  runtime::SimWorld& world() { return world_; }
  RaftNetOptions& net() { return net_; }
  const raft::RaftNodeOptions& options() const { return options_; }

  // A machine, and a process on it that has an empty disk.
  NodeId add_host(bool bootstrap);
  void crash(NodeId id, bool power);
  void start(NodeId id);
  void forget_host(NodeId id);  // its disk is gone
  runtime::SimHost& host(NodeId id) { return *hosts_.at(id); }
  RaftProcess* process(NodeId id);  // null: it is down
  std::vector<NodeId> hosts() const;
  void cut(NodeId from, NodeId to) { cuts_.insert({from, to}); }
  void heal() { cuts_.clear(); }
  bool is_cut(NodeId from, NodeId to) const { return cuts_.contains({from, to}); }

  // The node that leads, of the highest term, and has announced it; null: none.
  RaftProcess* leader();
  bool await_leader(std::uint64_t limit_ns = 60 * runtime::kSecondNs);
  // True if there was a leader to ask. Counted in acknowledged() when it is applied.
  bool propose(RaftProcess& at, std::vector<std::string> payloads);
  // Through the leader, whoever it is, again and again; false: it was not done in time.
  bool set_server(NodeId id, raft::Role role);
  bool remove_server(NodeId id);
  // All servers of the leader's configuration have applied what it has.
  bool await_equal(std::uint64_t limit_ns = 60 * runtime::kSecondNs);

  std::string describe();  // every process, for a failure

  // --- the checkers ---
  void applied(raft::Index index, const std::string& payload);
  void check_leaders();
  void check_bounds();
  // Everything acknowledged is in there.
  void check_nothing_lost(const ListMachine& machine);
  std::size_t acknowledged() const { return acknowledged_.size(); }
  std::uint64_t failures() const { return failures_; }
  void violated(const std::string& what);
  std::uint64_t sent() const { return sent_; }

 private:
  friend class RaftProcess;
  void carry(NodeId from, NodeId to, const std::string& header, const runtime::Bytes& body);
  bool change(const std::function<void(raft::RaftNode&, raft::RaftNode::Done)>& ask);

  runtime::SimWorld world_;
  const raft::RaftNodeOptions options_;
  RaftNetOptions net_;
  std::map<NodeId, std::unique_ptr<runtime::SimHost>> hosts_;
  std::map<NodeId, std::unique_ptr<RaftProcess>> processes_;
  std::map<NodeId, std::shared_ptr<int>> lives_;
  std::set<std::pair<NodeId, NodeId>> cuts_;
  std::uint32_t last_id_ = 0;
  std::map<raft::Index, std::string> committed_;
  std::map<raft::Term, NodeId> leaders_;
  std::set<std::string> acknowledged_;
  std::uint64_t failures_ = 0;
  std::uint64_t sent_ = 0;
};

}  // namespace ringtail::sim
