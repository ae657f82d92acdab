// What is checked before exchanges, queues and bindings are declared, deleted and bound, wherever
// the wish comes from: RabbitMQ's checks in its order, with its texts.
//
// On a shard's thread. None: it may go on.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "broker/amqp/errors.h"
#include "cluster/metadata/records.h"

namespace ringtail::broker {

class BrokerShard;

using Refusal = std::optional<amqp::AmqpError>;

// Who wishes it. Borrowed for the call.
struct Declarer {
  BrokerShard& shard;
  const std::string& user;
  const std::string& vhost;
};

Refusal refuse_permission(const Declarer& who, amqp::Permission permission, std::string_view kind,
                          std::string_view name);

// Before an exchange is proposed; `wanted.vhost` is that of `who`.
Refusal refuse_exchange(const Declarer& who, const cluster::metadata::ExchangeRecord& wanted);
// A declaration of an exchange that is there: the first difference.
Refusal refuse_other_exchange(const cluster::metadata::ExchangeRecord& current,
                              const cluster::metadata::ExchangeRecord& wanted);
Refusal refuse_exchange_delete(const Declarer& who, const std::string& name);

// A name that a client chose.
Refusal refuse_queue_name(const std::string& name);
// Before a queue is proposed: compares it with the queue of that name if there is one; of a new one
// brings its type and its decoded options into `wanted`.
Refusal refuse_queue(const Declarer& who, cluster::metadata::QueueRecord& wanted);
// The part of it that is for a queue which is not there yet.
Refusal refuse_new_queue(const Declarer& who, cluster::metadata::QueueRecord& wanted);
// What a client is told whose queue's master is to be on a node (the first that x-ha-policy-params
// names) which is not there; none: its arguments name none.
Refusal refuse_missing_master(const cluster::metadata::QueueRecord& wanted);
Refusal refuse_other_queue(const cluster::metadata::QueueRecord& current,
                           const cluster::metadata::QueueRecord& wanted);

// Before a binding is made or (`unbind`) taken away. That the destination is there is judged when
// the binding is.
Refusal refuse_binding(const Declarer& who, const cluster::metadata::BindingRecord& record,
                       bool unbind);

// Bindings are the same when their arguments are, in whatever order they come.
std::string sorted_arguments(std::string_view entries);

}  // namespace ringtail::broker
