// Where a new queue is to live: RabbitMQ's queue-master-locator, of the argument, else of the
// policy, else of the configuration. Nodes that are named for its mirrors come before
// (DeclareQueue).
#pragma once

#include "cluster/metadata/commands.h"

namespace ringtail::broker {

class BrokerShard;

// The declaration of a queue by a client of this shard, or (HTTP, definitions) of this node. An
// exclusive queue lives with its connection, whatever the locator says.
cluster::metadata::DeclareQueue placed(BrokerShard& shard, cluster::metadata::QueueRecord record);

}  // namespace ringtail::broker
