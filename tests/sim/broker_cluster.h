// Machines that run whole brokers of one cluster, and what can befall them: control planes, links,
// queues and their files, and listeners for clients, which have machines of their own. Everything
// happens in virtual time, on one thread, from one seed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "broker/runtime/sim/sim_net.h"
#include "tests/sim/sim_broker.h"

namespace ringtail::sim {

// Numbers from 1: node "n<number>@10.0.0.<number>".
class BrokerCluster {
 public:
  // `joining`: all but the first join it, where otherwise all begin together.
  BrokerCluster(std::uint64_t seed, std::uint32_t machines, std::uint32_t clients, bool joining);
  ~BrokerCluster();
  BrokerCluster(const BrokerCluster&) = delete;
  BrokerCluster& operator=(const BrokerCluster&) = delete;

  static std::string name_of(std::uint32_t number);
  static std::string address_of(std::uint32_t number);

  std::uint32_t size() const { return static_cast<std::uint32_t>(machines_.size()); }
  runtime::SimHost& host(std::uint32_t number) { return *machines_[number - 1].host; }
  // Null: does not run.
  BrokerNode* node(std::uint32_t number) { return machines_[number - 1].node.get(); }
  // Where a client runs; from 1.
  runtime::SimHost& client_host(std::uint32_t number) { return *client_hosts_[number - 1]; }
  // It runs, and clients may hope for answers.
  bool serves(std::uint32_t number);
  // It may act on what it knows of the metadata: all of what clients have been told.
  bool knows_all(std::uint32_t number);
  // It has that queue on every shard.
  bool knows_queue(std::uint32_t number, const std::string& name);

  bool knows_binding(std::uint32_t number, const std::string& queue, const std::string& key);

  void start(std::uint32_t number);
  void start_all();
  void kill(std::uint32_t number);
  // Without power: what was not synced may be lost.
  void crash(std::uint32_t number);
  void freeze(std::uint32_t number);
  bool frozen(std::uint32_t number) const { return machines_[number - 1].frozen; }
  // In order; come_back() starts it again once it has stopped.
  void stop(std::uint32_t number);
  bool stopping(std::uint32_t number) const { return machines_[number - 1].stopping; }
  // Who is frozen goes on, who does not run starts.
  void come_back();
  // Something of all that, or of what can befall the ways between all machines, by chance.
  void harm();
  // Ways, disks and processes are as they should be; stops are waited for by whoever looks at
  // come_back() again.
  void heal();

  // Every node is there and holds a lease, all reach each other, all replicas are alike.
  bool is_one();
  // Why not, for messages.
  std::string why_not_one();
  // No node has had to end by itself.
  void check_alive();

  runtime::SimWorld world;

 private:
  struct Machine {
    std::unique_ptr<runtime::SimHost> host;
    std::unique_ptr<BrokerNode> node;
    std::uint16_t shards = 1;
    bool frozen = false;
    bool stopping = false;
  };

  runtime::SimHost& random_host();
  void harm_ways(std::uint32_t number);
  void make_trouble();

  std::vector<Machine> machines_;
  std::vector<std::unique_ptr<runtime::SimHost>> client_hosts_;
  const bool joining_;
};

}  // namespace ringtail::sim
