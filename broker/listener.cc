#include "broker/listener.h"

#include <algorithm>

#include "broker/broker_shard.h"
#include "broker/runtime/log.h"

namespace ringtail::broker {

using runtime::log;
using runtime::LogLevel;
using runtime::ShardId;
using runtime::Status;

Listener::Listener(BrokerShard& broker_shard, std::uint16_t shards)
    : broker_shard_(broker_shard), connections_(shards) {
  broker_shard_.set_connection_ended([this](ShardId shard) { --connections_[shard.value]; });
}

Listener::~Listener() { broker_shard_.set_connection_ended(nullptr); }

Status Listener::open() {
  const runtime::Config& config = broker_shard_.config();
  if (config.amqp_listener_enabled) {
    Status skipped;
    for (const std::string& address : config.bind) {
      // With port 0 all addresses share the port that the first one got.
      const std::uint16_t port = config.amqp_port == 0 ? first_port() : config.amqp_port;
      const Status status = open_one(address, port);
      if (status.ok()) continue;
      if (status.code() != runtime::Code::kInvalid || address != "::1") return status;
      log(LogLevel::kWarning, "listener", "{}", status.text());
      skipped = status;
    }
    if (listeners_.empty() && !skipped.ok()) return skipped;
  }
  for (const runtime::ListenAddress& extra : config.extra_amqp_listeners) {
    RT_TRY(open_one(extra.address, extra.port));
  }
  return {};
}

Status Listener::open_one(const std::string& address, std::uint16_t port) {
  auto listener = broker_shard_.shard().env().net().listen(
      address, port,
      [this](std::unique_ptr<runtime::AcceptedSocket> socket) { accepted(std::move(socket)); });
  if (!listener) return listener.status();
  log(LogLevel::kInfo, "listener", "AMQP on {}", listener.value()->local_name());
  listeners_.push_back(std::move(listener).value());
  return {};
}

std::uint16_t Listener::first_port() const {
  return listeners_.empty() ? 0 : listeners_.front()->port();
}

void Listener::accepted(std::unique_ptr<runtime::AcceptedSocket> socket) {
  const auto least = std::min_element(connections_.begin(), connections_.end());
  ++*least;
  const ShardId shard{static_cast<std::uint16_t>(least - connections_.begin())};
  auto letter = std::make_unique<Adopt>();
  letter->socket = std::move(socket);
  runtime::Shard& here = broker_shard_.shard();
  here.post(BrokerShard::address_of(here.node(), here.id()),
            BrokerShard::address_of(here.node(), shard), std::move(letter));
}

}  // namespace ringtail::broker
