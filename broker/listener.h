// The node's AMQP listeners: one exclusive accept socket per address and port. Each connection goes
// to the shard that has the fewest. With listeners for TLS: the certificate too, which all shards
// get before the first connection, and again when its files have changed. One that cannot be used
// is logged, and the last good one stays in use; connections keep what they began with.
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
#include "broker/runtime/timer.h"
#include "broker/runtime/tls/tls_context.h"

namespace ringtail::broker {

class BrokerShard;

class Listener {
 public:
  // `broker_shard` is that of shard 0.
  Listener(BrokerShard& broker_shard, std::uint16_t shards);
  ~Listener();

  // Opens every listener of the configuration. A certificate that cannot be used is an error that
  // names the file, a port in use or a foreign address one that names it; a loopback address of a
  // protocol that this machine lacks (::1 without IPv6) is passed over as long as another address
  // works.
  runtime::Status open();

  // The port of the first listener: what port 0 became.
  std::uint16_t first_port() const;
  struct Open {
    std::string protocol;  // "amqp", "amqp/ssl"
    std::string name;      // "127.0.0.1:5672"
  };
  std::vector<Open> listening() const;

  // Looks now whether the certificate's files have changed, and says so in any case.
  void reload_certificate();

 private:
  bool has_tls() const;
  runtime::Status load_certificate();
  runtime::Status open_plain();
  runtime::Status open_tls();
  // An address of `bind`; adds what may be passed over to `skipped`.
  runtime::Status open_bound(const std::string& address, std::uint16_t port, bool tls,
                             runtime::Status& skipped);
  runtime::Status open_one(const std::string& address, std::uint16_t port, bool tls);
  void accepted(std::unique_ptr<runtime::AcceptedSocket> socket, bool tls);
  runtime::Status use_certificate(const runtime::TlsFiles& files);
  void check_certificate(bool asked);

  BrokerShard& broker_shard_;
  std::vector<std::uint32_t> connections_;  // by shard
  std::vector<std::unique_ptr<runtime::Listener>> listeners_;
  std::vector<std::string> protocols_;   // of each
  runtime::TlsFiles certificate_files_;  // the last that were tried
  std::string certificate_trouble_;      // the last that was logged; empty: none
  std::unique_ptr<runtime::Timer> certificate_timer_;
};

}  // namespace ringtail::broker
