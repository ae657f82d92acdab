#include "broker/control_options.h"

#include <algorithm>
#include <string>
#include <vector>

namespace ringtail::broker {

namespace {

// Where peers reach this node: the host of its name.
std::string host_of_node(const runtime::Config& config) {
  if (!config.cluster.host.empty()) return config.cluster.host;
  return config.node_name.substr(config.node_name.find('@') + 1);
}

}  // namespace

runtime::Status check_formation(const runtime::Config& config,
                                const cluster::DataDirectory& directory) {
  const std::vector<std::string>& listed = config.cluster.peers;
  const bool joins = !config.cluster.join.empty() || !directory.join.empty();
  if (listed.empty() || joins || directory.identity.has_cluster()) return {};
  if (std::find(listed.begin(), listed.end(), config.node_name) != listed.end()) return {};
  std::string names;
  for (const std::string& name : listed) names += (names.empty() ? "" : ", ") + name;
  return {runtime::Code::kInvalid,
          "node_name = " + config.node_name +
              " is not among cluster_formation.classic_config.nodes.* (" + names +
              "): name the node as the list does (--node-name), or let it join (--join)"};
}

cluster::ControlPlaneOptions control_options(const runtime::Config& config,
                                             const cluster::DataDirectory& directory,
                                             cluster::LinkTls* tls) {
  cluster::ControlPlaneOptions options;
  options.tls = tls;
  options.identity = directory.identity;
  options.cookie = directory.cookie;
  options.force_boot = directory.force_boot;
  options.name = config.node_name;
  options.host = host_of_node(config);
  options.data_dir = config.data_dir;
  options.bind = config.bind;
  options.port = config.cluster.port;
  options.data_shards = static_cast<std::uint16_t>(config.shards);
  options.times = {config.cluster.heartbeat_ms, config.cluster.lease_ms,
                   config.cluster.node_down_ms};
  for (const runtime::PeerAddress& peer : config.cluster.join) {
    options.formation.join.push_back({peer.host, peer.port});
  }
  if (runtime::PeerAddress peer; runtime::parse_peer(directory.join, peer)) {
    options.formation.join = {{peer.host, peer.port}};
  }
  for (const std::string& name : config.cluster.peers) {
    options.formation.listed.push_back(
        {{}, name, {name.substr(name.find('@') + 1), config.cluster.port}});
  }
  return options;
}

}  // namespace ringtail::broker
