// What nodes are to each other: flags, and RabbitMQ's keys of cluster_formation.* and
// cluster_partition_handling.
#include <algorithm>
#include <array>
#include <utility>

#include "broker/runtime/config_settings.h"

namespace ringtail::runtime {

namespace {

constexpr std::string_view kTimeRule = "is not a time (in milliseconds, 10 to 3600000)";

std::string apply_time(std::uint32_t& place, std::string_view value) {
  std::uint64_t time_ms = 0;
  if (!parse_whole_number(value, time_ms) || time_ms < 10 || time_ms > 3'600'000) {
    return std::string(kTimeRule);
  }
  place = static_cast<std::uint32_t>(time_ms);
  return {};
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

}  // namespace

bool parse_peer(std::string_view text, PeerAddress& out) {
  if (const std::size_t at = text.find('@'); at != std::string_view::npos) {
    text.remove_prefix(at + 1);
  }
  std::string_view host = text;
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return false;
    host = text.substr(1, end - 1);
    const std::string_view rest = text.substr(end + 1);
    if (!rest.empty() && !rest.starts_with(':')) return false;
    port = rest.empty() ? rest : rest.substr(1);
    if (!rest.empty() && port.empty()) return false;
  } else if (const std::size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
    if (port.empty() || host.find(':') != std::string_view::npos) return false;
  }
  std::uint64_t number = kClusterPort;
  if (!port.empty() && (!parse_whole_number(port, number) || number < 1 || number > 65535)) {
    return false;
  }
  if (host.empty() || host.find_first_of(" ,/") != std::string_view::npos) return false;
  out = {std::string(host), static_cast<std::uint16_t>(number)};
  return true;
}

namespace {

// Were others passed over, each node would begin a cluster of its own.
std::string apply_discovery(std::string_view value) {
  if (value == "classic_config" || value == "rabbit_peer_discovery_classic_config") return {};
  return "is not a way to find other nodes in this version: give all of them the same list "
         "(classic_config, with cluster_formation.classic_config.nodes.N), or name members to join "
         "(--join)";
}

std::string apply_listed_node(ConfigDraft& draft, std::string_view value) {
  const std::size_t at = value.find('@');
  if (at == std::string_view::npos || at == 0 || at + 1 == value.size()) {
    return "is not a node name (name@host)";
  }
  auto& peers = draft.config.cluster.peers;
  if (std::find(peers.begin(), peers.end(), value) == peers.end()) peers.emplace_back(value);
  return {};
}

std::string apply_master_locator(ConfigDraft& draft, std::string_view value) {
  constexpr std::array<std::string_view, 4> kKnown = {"client-local", "min-masters", "random",
                                                      "balanced"};
  if (std::find(kKnown.begin(), kKnown.end(), value) == kKnown.end()) {
    return "is not a locator (client-local, min-masters, random, balanced)";
  }
  draft.config.queue_master_locator = value;
  return {};
}

}  // namespace

std::string apply_cluster_port(ConfigDraft& draft, std::string_view value) {
  std::uint64_t port = 0;
  if (!parse_whole_number(value, port) || port > 65535) return "is not a port (0 to 65535)";
  draft.config.cluster.port = static_cast<std::uint16_t>(port);
  return {};
}

std::string apply_join(ConfigDraft& draft, std::string_view value) {
  std::vector<PeerAddress> join;
  while (true) {
    const std::size_t comma = std::min(value.find(','), value.size());
    PeerAddress peer;
    if (!parse_peer(trimmed(value.substr(0, comma)), peer)) {
      return "is not a list of nodes (host:port or name@host, comma separated)";
    }
    join.push_back(std::move(peer));
    if (comma == value.size()) break;
    value.remove_prefix(comma + 1);
  }
  draft.config.cluster.join = std::move(join);
  return {};
}

std::string apply_cookie_file(ConfigDraft& draft, std::string_view value) {
  if (value.empty() || value.find('\0') != std::string_view::npos) return "is not a file name";
  draft.config.cluster.cookie_file = value;
  return {};
}

std::string apply_heartbeat_interval(ConfigDraft& draft, std::string_view value) {
  return apply_time(draft.config.cluster.heartbeat_ms, value);
}
std::string apply_lease(ConfigDraft& draft, std::string_view value) {
  return apply_time(draft.config.cluster.lease_ms, value);
}
std::string apply_node_down(ConfigDraft& draft, std::string_view value) {
  return apply_time(draft.config.cluster.node_down_ms, value);
}

std::string apply_partition_handling(ConfigDraft& draft, std::string_view value) {
  constexpr std::array<std::pair<std::string_view, PartitionHandling>, 4> kKnown = {{
      {"ignore", PartitionHandling::kIgnore},
      {"pause_minority", PartitionHandling::kPauseMinority},
      {"pause_if_all_down", PartitionHandling::kPauseIfAllDown},
      {"autoheal", PartitionHandling::kAutoheal},
  }};
  for (const auto& [name, handling] : kKnown) {
    if (value != name) continue;
    draft.config.cluster.partition_handling = handling;
    return {};
  }
  return "is not a way to handle partitions (ignore, pause_minority, pause_if_all_down, autoheal)";
}

bool apply_cluster_key(ConfigDraft& draft, std::string_view key, std::string_view value,
                       std::string& rule) {
  if (key == "cluster_formation.peer_discovery_backend") {
    rule = apply_discovery(value);
  } else if (key.starts_with("cluster_formation.classic_config.nodes.")) {
    rule = apply_listed_node(draft, value);
  } else if (key == "queue_master_locator") {
    rule = apply_master_locator(draft, value);
  } else if (key.starts_with("cluster_ssl_options.")) {
    return apply_link_tls_key(draft.config.cluster.tls, key, value, rule);
  } else {
    return false;
  }
  return true;
}

// A lease must have ended before its holder is declared down, and be renewed in time.
Status cluster_done(const ConfigDraft& draft) {
  const ClusterConfig& cluster = draft.config.cluster;
  if (cluster.lease_ms < 3 * cluster.heartbeat_ms) {
    return {Code::kInvalid, "lease_ms = " + std::to_string(cluster.lease_ms) +
                                " is less than three times heartbeat_interval_ms = " +
                                std::to_string(cluster.heartbeat_ms)};
  }
  if (cluster.node_down_ms < cluster.lease_ms + cluster.lease_ms / 10) {
    return {Code::kInvalid,
            "node_down_ms = " + std::to_string(cluster.node_down_ms) +
                " is not a tenth more than lease_ms = " + std::to_string(cluster.lease_ms)};
  }
  return link_tls_done(cluster.tls);
}

}  // namespace ringtail::runtime
