// Nodes of a cluster under the simulator, without clients and queues: control planes, replicas of
// the metadata, message buses. Everything happens in virtual time, on one thread, from one seed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "broker/runtime/sim/sim_env.h"
#include "broker/runtime/sim/sim_net.h"
#include "broker/runtime/sim/sim_shard.h"
#include "cluster/control_plane.h"
#include "cluster/data_directory.h"
#include "cluster/message_bus.h"
#include "cluster/metadata/service.h"

namespace ringtail::sim {

inline constexpr std::uint16_t kClusterPort = 25672;

// Proposes changes of the metadata on one data shard.
class Proposer final : public runtime::Actor {
 public:
  using Done = std::function<void(const cluster::metadata::CommandResult&)>;
  Proposer(runtime::Shard& shard, runtime::Address owner)
      : shard_(shard), owner_(owner), self_(shard.add(*this)) {}
  ~Proposer() override { shard_.remove(self_.actor); }
  void propose(cluster::metadata::Command command, Done done);
  void receive(runtime::LetterPtr letter) noexcept override;

 private:
  runtime::Shard& shard_;
  const runtime::Address owner_;
  const runtime::Address self_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Done> waiting_;
};

struct SimClusterOptions {
  std::uint16_t shards = 2;
  std::vector<cluster::PeerAddress> join;
  std::vector<cluster::MemberAddress> listed;
  bool retires = false;  // it comes to be forgotten; serves() never
};

// A process on a host: "n<number>@10.0.0.<number>". The host, and so the disk, is the test's.
class ClusterNode {
 public:
  ClusterNode(runtime::SimHost& host, std::uint32_t number, const SimClusterOptions& options);
  // As kill -9 does it, unless it was stopped.
  ~ClusterNode();
  ClusterNode(const ClusterNode&) = delete;
  ClusterNode& operator=(const ClusterNode&) = delete;

  static std::string name_of(std::uint32_t number);
  static std::string host_of(std::uint32_t number);

  // Its cluster has forgotten it, as it wished.
  bool retired() const { return retired_; }
  // It has a life, a lease, and its shards have the metadata.
  bool serves() const { return serves_; }
  // Why it could not begin, or had to end.
  const runtime::Status& ended() const { return ended_; }
  // In order: leaves, closes. `stopped()` when it can be destroyed.
  void stop();
  bool stopped() const { return stopped_; }
  void pause() { node_.pause(); }
  void resume() { node_.resume(); }

  cluster::ControlPlane& control() { return *control_; }
  runtime::NodeId id() const { return directory_.identity.node; }
  std::uint16_t shards() const { return options_.shards; }
  cluster::metadata::Store& store(std::size_t shard) { return services_[shard]->store(); }
  void run_on(std::size_t shard, const std::function<void()>& code) {
    node_.driver(shard).run(code);
  }
  void propose(std::size_t shard, cluster::metadata::Command command, Proposer::Done done);

 private:
  runtime::SimHost& host_;
  const SimClusterOptions options_;
  cluster::DataDirectory directory_;
  runtime::LetterCodecs codecs_;
  runtime::SimNode node_;
  std::vector<std::unique_ptr<cluster::metadata::Service>> services_;
  std::vector<std::unique_ptr<cluster::MessageBus>> buses_;
  std::vector<std::unique_ptr<Proposer>> proposers_;
  std::unique_ptr<cluster::ControlPlane> control_;
  bool serves_ = false;
  bool stopped_ = false;
  bool retired_ = false;
  runtime::Status ended_;
};

}  // namespace ringtail::sim
