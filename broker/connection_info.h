// What listings show of a connection and of its channels: copies, taken on the connection's shard
// (Connection::info(), Connection::channel_infos()), that may travel to any thread afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "broker/runtime/net.h"

namespace ringtail::broker {

struct ConnectionInfo {
  std::uint64_t id = 0;  // unique in the node's life
  std::string name;      // "peer:port -> host:port", as RabbitMQ has it: IPv6 without brackets
  std::string user;      // empty until the login
  std::string vhost;     // empty until connection.open
  std::string peer_host;
  std::uint16_t peer_port = 0;
  std::string host;
  std::uint16_t port = 0;
  std::uint64_t connected_at_ms = 0;  // since 1970
  // RabbitMQ's words: "starting", "tuning", "opening", "running", "blocking" (the memory alarm is
  // on, it has not published since), "blocked", "flow" (a queue is behind), "closing", "closed".
  const char* state = "";
  std::size_t channels = 0;
  std::uint32_t frame_max = 0;
  std::uint32_t channel_max = 0;
  std::uint16_t timeout_s = 0;  // heartbeat
  std::string auth_mechanism;
  std::string client_properties;   // the entries of a field table
  std::string user_provided_name;  // connection_name of the client properties; empty: none
  std::optional<runtime::TlsInfo> tls;
  std::uint64_t recv_octets = 0;
  std::uint64_t send_octets = 0;
  std::uint64_t recv_count = 0;  // reads
  std::uint64_t send_count = 0;  // writes
  std::size_t send_pending = 0;  // octets that wait to be written
};

struct ChannelInfo {
  std::uint16_t number = 0;
  const char* state = "running";  // "flow": a queue that it publishes to is behind
  bool confirm = false;
  bool transactional = false;
  std::uint32_t prefetch_count = 0;         // for consumers started from now on
  std::uint32_t global_prefetch_count = 0;  // of the channel as a whole
  std::size_t consumer_count = 0;
  std::size_t messages_unacknowledged = 0;
  std::size_t messages_unconfirmed = 0;
  std::size_t messages_uncommitted = 0;  // published in the transaction
  std::size_t acks_uncommitted = 0;
  struct Consumer {
    std::string tag;
    std::string queue;
    bool ack_required = true;
    bool exclusive = false;
    std::uint32_t prefetch_count = 0;
    std::string arguments;  // the entries of a field table
  };
  std::vector<Consumer> consumers;  // by tag
};

// "127.0.0.1:5672" and "[::1]:5672" taken apart; the host is "::1".
struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};
HostPort split_host_port(const std::string& address);

}  // namespace ringtail::broker
