#include "broker/http/cluster_nodes.h"

#include <algorithm>

#include "broker/broker_shard.h"

namespace ringtail::broker::http {

using cluster::metadata::NodeRecord;
using runtime::NodeId;

ClusterNodes::ClusterNodes(Call& call) {
  NodeId self{};
  call.on_shard(runtime::ShardId{0}, [&](BrokerShard& shard) {
    self = shard.shard().node();
    shard.view().for_each_node([&](const std::shared_ptr<const NodeRecord>& record) {
      if (record->id == self) return;
      const bool running = record->up && shard.node_is_up(record->id);
      nodes_.push_back({record->id, record->name, false, running});
    });
  });
  // It answers, whatever the others say of it.
  nodes_.push_back({self, call.config().node_name, true, true});
  std::sort(nodes_.begin(), nodes_.end(),
            [](const ClusterNode& a, const ClusterNode& b) { return a.name < b.name; });
}

const ClusterNode* ClusterNodes::find(NodeId id) const {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(),
                                  [id](const ClusterNode& node) { return node.id == id; });
  return found == nodes_.end() ? nullptr : &*found;
}

const ClusterNode* ClusterNodes::named(std::string_view name) const {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(),
                                  [name](const ClusterNode& node) { return node.name == name; });
  return found == nodes_.end() ? nullptr : &*found;
}

}  // namespace ringtail::broker::http
