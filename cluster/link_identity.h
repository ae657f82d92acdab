// Who is at the ends of a link. Plain values, on any shard.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "broker/runtime/ids.h"

namespace ringtail::cluster {

// The names of clusters are drawn by chance. All zero: a node that belongs to none yet.
using ClusterId = std::array<std::uint8_t, 16>;

// Which incarnation of a node; given by the metadata, counts from 1. 0: it has none now.
using NodeLife = std::uint64_t;

// What a node says of itself.
struct LinkIdentity {
  ClusterId cluster{};
  // How often an operator has forced this cluster on without its majority. Two halves of which one
  // was forced are two clusters.
  std::uint64_t force_generation = 0;
  runtime::NodeId node;
  std::string name;  // "rabbit@host", at most 255 bytes
  NodeLife life = 0;
  std::uint16_t shards = 0;  // how many data shards it has
  bool tls = false;          // its links are secured by TLS (link_tls.h)

  friend bool operator==(const LinkIdentity&, const LinkIdentity&) = default;
};

// Where a node listens for other nodes: a numeric address or a host name, and a port.
struct PeerAddress {
  std::string host;
  std::uint16_t port = 0;

  friend bool operator==(const PeerAddress&, const PeerAddress&) = default;
};

// "host:port", "[::1]:port".
inline std::string to_text(const PeerAddress& address) {
  const bool v6 = address.host.find(':') != std::string::npos;
  return (v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

// A node that data links are to be kept with.
struct PeerNode {
  runtime::NodeId node;
  std::string name;
  NodeLife life = 0;
  std::uint16_t shards = 0;
  std::vector<PeerAddress> addresses;

  friend bool operator==(const PeerNode&, const PeerNode&) = default;
};

}  // namespace ringtail::cluster
