// What stands for the links between nodes in a simulation: letters are encoded, travel for a while,
// are decoded and posted on the shard that they are for; in order between any two shards. The test
// cuts the links and joins them again, and both sides hear of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "broker/runtime/envelope.h"
#include "broker/runtime/shard.h"
#include "cluster/metadata/commands.h"
#include "tests/sim/sim_broker.h"

namespace ringtail::sim {

// Owned by the test; made before its nodes, which have as many shards each, and destroyed after
// them: to their last moment they have somewhere to post.
class SimPeers {
 public:
  explicit SimPeers(runtime::SimWorld& world);
  ~SimPeers();
  SimPeers(const SimPeers&) = delete;
  SimPeers& operator=(const SimPeers&) = delete;

  // Once.
  void link(std::vector<BrokerNode*> nodes);

  // A letter is under way for so long, up to twice.
  void set_delay_ns(std::uint64_t delay_ns) { delay_ns_ = delay_ns; }
  // What is under way is lost, and so is what is sent, until join().
  void cut();
  void join();
  bool joined() const { return joined_; }
  // Letters and their bytes that have arrived.
  std::uint64_t letters() const { return letters_; }
  std::uint64_t bytes() const { return bytes_; }

  // Applies the change on every shard of every node, as if the metadata were one.
  cluster::metadata::CommandResult apply(const cluster::metadata::Command& command);
  // A queue that lives on that node.
  std::shared_ptr<const cluster::metadata::QueueRecord> declare(const std::string& name,
                                                                const BrokerNode& home,
                                                                bool durable = true,
                                                                bool auto_delete = false);
  // The queue's process on its node; null: none.
  queue::QueueProcess* process(const cluster::metadata::QueueRecord& record);

 private:
  class Post;

  BrokerNode* node_of(runtime::NodeId id);
  void send(runtime::ShardId from, const runtime::Address& to, runtime::LetterPtr letter);
  void arrive(const runtime::Address& from, const runtime::Address& to, runtime::LetterKind kind,
              const std::string& header, const std::string& body);
  void each_shard(bool up);

  runtime::SimWorld& world_;
  std::vector<BrokerNode*> nodes_;
  runtime::LetterCodecs codecs_;
  std::vector<std::unique_ptr<Post>> posts_;
  std::uint64_t delay_ns_ = 200 * runtime::kMicrosecondNs;
  bool joined_ = true;
  std::uint64_t session_ = 1;
  std::uint64_t letters_ = 0;
  std::uint64_t bytes_ = 0;
  // When the last letter between two shards arrives: the next one is behind it.
  std::map<std::pair<runtime::Address, runtime::Address>, std::uint64_t> last_arrival_;
};

}  // namespace ringtail::sim
