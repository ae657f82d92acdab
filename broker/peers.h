// What a shard knows of the other nodes: which of them letters reach, and how they are called.
// Owned by the BrokerShard, on its shard; told by who watches the nodes.
#pragma once

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>

#include "broker/runtime/ids.h"

namespace ringtail::broker {

class Peers {
 public:
  explicit Peers(runtime::NodeId own) : up_{own} {}

  // Other nodes are down until they are said to be up. One that is not reached is as good as down.
  bool is_up(runtime::NodeId node) const {
    return up_.contains(node) && !unreached_.contains(node);
  }
  bool is_unreached(runtime::NodeId node) const { return unreached_.contains(node); }
  void set_up(runtime::NodeId node, bool up) {
    if (up) {
      up_.insert(node);
    } else {
      up_.erase(node);
    }
    congested_.erase(node);
    unreached_.erase(node);
  }
  // False: it is as it was, or down.
  bool set_reached(runtime::NodeId node, bool reached) {
    if (!up_.contains(node)) return false;
    return reached ? unreached_.erase(node) > 0 : unreached_.insert(node).second;
  }
  // More waits for it than is good.
  bool is_congested(runtime::NodeId node) const { return congested_.contains(node); }
  void set_congested(runtime::NodeId node, bool congested) {
    if (congested) {
      congested_.insert(node);
    } else {
      congested_.erase(node);
    }
  }
  // A node without a name is none of the cluster.
  bool knows(runtime::NodeId node) const { return names_.contains(node); }
  void set_name(runtime::NodeId node, std::string name) { names_[node] = std::move(name); }
  void forget(runtime::NodeId node) { names_.erase(node); }
  std::string name(runtime::NodeId node) const {
    const auto found = names_.find(node);
    return found == names_.end() ? fmt::format("{:08x}", node.value) : found->second;
  }

 private:
  std::set<runtime::NodeId> up_;
  std::set<runtime::NodeId> congested_;
  std::set<runtime::NodeId> unreached_;
  std::map<runtime::NodeId, std::string> names_;
};

}  // namespace ringtail::broker
