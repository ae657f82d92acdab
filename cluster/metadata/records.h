// What the cluster knows about virtual hosts, exchanges, queues and bindings. Argument tables are
// opaque here: the bytes of a field table's entries (broker/amqp/field_table.h reads them).
#pragma once

#include <cstdint>
#include <string>

#include "broker/runtime/ids.h"

namespace ringtail::cluster::metadata {

using runtime::Qid;
using runtime::ShardId;

// The connection that owns an exclusive queue, unique in the node's life; 0: none.
using ConnectionId = std::uint64_t;

struct ExchangeRecord {
  std::string vhost;
  std::string name;
  std::string type;
  bool durable = false;
  bool auto_delete = false;
  bool internal = false;
  bool predeclared = false;  // the default exchange and amq.*: never deleted
  std::string arguments;
};

struct QueueRecord {
  Qid qid;
  ShardId shard;  // where its master lives
  std::string vhost;
  std::string name;
  bool durable = false;
  bool auto_delete = false;
  ConnectionId exclusive_owner = 0;
  std::string arguments;
  bool exclusive() const { return exclusive_owner != 0; }
};

enum class DestinationKind : std::uint8_t { kQueue, kExchange };

struct BindingRecord {
  std::string vhost;
  std::string source;  // an exchange
  DestinationKind kind = DestinationKind::kQueue;
  std::string destination;
  std::string routing_key;
  std::string arguments;
  friend bool operator==(const BindingRecord&, const BindingRecord&) = default;
};

}  // namespace ringtail::cluster::metadata
