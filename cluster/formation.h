// How an empty node comes to its cluster: it joins one that it is told of, begins one with the
// nodes of a list, or begins one alone.
//
//   CL16  Of the nodes of a list only the first by name begins a cluster, and only when more than
//   half
//         of the list, itself among them, are empty and none that answers belongs to one. Every
//         other node waits for a cluster to join. Two beginnings would need two majorities of the
//         list; a node that lost its disk hears of the cluster that it belonged to from any of the
//         others.
//
// On the control shard, until it has ended.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "broker/runtime/lifeline.h"
#include "broker/runtime/shard.h"
#include "cluster/control_bus.h"
#include "cluster/membership.h"

namespace ringtail::cluster {

struct FormationOptions {
  std::vector<PeerAddress> join;      // any members of a cluster
  std::vector<MemberAddress> listed;  // names and places of those that begin together; node: 0
  // It was told that it has joined, and died before it had any of the log: the cluster may not know
  // it any more, and it does not know where the others are. It asks again, and begins nothing.
  bool again = false;
};

class Formation {
 public:
  struct Outcome {
    runtime::Status status;  // refused for good: the node cannot go on
    bool begins = false;     // a new cluster; otherwise:
    ClusterId cluster{};
    std::uint64_t force_generation = 0;
    std::vector<MemberAddress> members;
  };
  // `done` runs once, never inside start(); it may destroy this.
  Formation(runtime::Shard& shard, ControlBus& bus, MemberAddress own, FormationOptions options,
            std::function<void(const Outcome&)> done);
  void start();

 private:
  void attempt();
  void ask_to_join(const PeerAddress& address);
  void join_answered(const PeerAddress& address, const runtime::Result<ControlAnswer>& answer);
  void look_around();
  void looked_at(const PeerAddress& address, const runtime::Result<ControlAnswer>& answer);
  void looked_around();
  void again(std::uint64_t after_ms);
  void end(Outcome outcome);
  // The one of the list that begins the cluster.
  const MemberAddress& first_listed() const;

  runtime::Shard& shard_;
  ControlBus& bus_;
  const MemberAddress own_;
  const FormationOptions options_;
  std::function<void(const Outcome&)> done_;
  std::unique_ptr<runtime::Timer> timer_;
  runtime::Lifeline lifeline_;
  std::vector<PeerAddress> join_;
  std::size_t next_ = 0;  // of join_
  std::size_t awaited_ = 0;
  std::size_t empty_ = 0;  // nodes of the list that belong to no cluster
  std::vector<PeerAddress> found_;
  std::string last_said_;
};

}  // namespace ringtail::cluster
