// The nodes of the cluster as one request sees them: read once from the metadata and the links of a
// shard, then looked at without asking again. Owned by a route, on its thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broker/http/call.h"
#include "broker/json_table.h"
#include "cluster/metadata/records.h"

namespace ringtail::broker::http {

struct ClusterNode {
  runtime::NodeId id;
  std::string name;
  bool own = false;      // the one that was asked
  bool running = false;  // its life goes on, and letters from here reach it
};

class ClusterNodes {
 public:
  // After a failed trip to the shard there is only this node.
  explicit ClusterNodes(Call& call);

  // By name; this node is always among them.
  const std::vector<ClusterNode>& all() const { return nodes_; }
  bool alone() const { return nodes_.size() == 1; }
  // Null when there is none.
  const ClusterNode* find(runtime::NodeId id) const;
  const ClusterNode* named(std::string_view name) const;

 private:
  std::vector<ClusterNode> nodes_;
};

}  // namespace ringtail::broker::http
