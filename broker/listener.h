// The node's AMQP listeners: one exclusive accept socket per address and port. Each connection goes
// to the shard that has the fewest.
//
// Lives on shard 0, as long as the node accepts connections.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "broker/runtime/config.h"
#include "broker/runtime/net.h"
#include "broker/runtime/shard.h"
#include "broker/runtime/status.h"

namespace ringtail::broker {

class BrokerShard;

class Listener {
 public:
  // `broker_shard` is that of shard 0.
  Listener(BrokerShard& broker_shard, std::uint16_t shards);
  ~Listener();

  // Opens every listener of the configuration. A port in use or a foreign address is an error that
  // names it; a loopback address of a protocol that this machine lacks (::1 without IPv6) is passed
  // over as long as another address works.
  runtime::Status open();

  // The port of the first listener: what port 0 became.
  std::uint16_t first_port() const;

 private:
  runtime::Status open_one(const std::string& address, std::uint16_t port);
  void accepted(std::unique_ptr<runtime::AcceptedSocket> socket);

  BrokerShard& broker_shard_;
  std::vector<std::uint32_t> connections_;  // by shard
  std::vector<std::unique_ptr<runtime::Listener>> listeners_;
};

}  // namespace ringtail::broker
