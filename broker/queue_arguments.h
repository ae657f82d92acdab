// The x-arguments of queue.declare: checked, with RabbitMQ 3.10's texts in its order of checks, and
// decoded to what the queue works by.
//
// Differences from RabbitMQ 3.10, all in the client's favour or clearer:
//   x-queue-type "quorum"    a durable queue mirrored on a majority (decision 0008); a declaration
//                            that is not durable, exclusive or auto-delete is taken as well
//   x-queue-type "stream"    refused: there is no reading by offset
//   x-delivery-limit         honoured on classic queues too; must be an integer, negative is none
//   x-dead-letter-strategy, x-queue-leader-locator   taken on classic queues too
//   x-ha-policy              honoured (mirror_arguments.h), as is x-ha-min-in-sync, our own:
//   publishes
//                            are refused while fewer members are in sync
//   x-queue-master-locator   an unknown value is 406; RabbitMQ fails with 541
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "broker/amqp/errors.h"
#include "broker/runtime/config.h"
#include "broker/runtime/status.h"
#include "cluster/metadata/queue_options.h"
#include "cluster/metadata/records.h"

namespace ringtail::broker {

// For whom they are decoded.
struct QueueArgumentsContext {
  std::string_view vhost;
  std::string_view queue;
  bool accept_quorum = true;  // Config::accept_quorum_queues
};

// False: `error` says what a client is told (406). The table is well formed.
bool decode_queue_arguments(std::span<const std::uint8_t> arguments,
                            const QueueArgumentsContext& context,
                            cluster::metadata::QueueOptions& options, amqp::AmqpError& error);

// The arguments that a redeclaration of a queue of that type compares; others are stored and not
// looked at.
std::span<const std::string_view> compared_queue_arguments(cluster::metadata::QueueType type);

// Brings the type into a declaration, before it is compared or decoded. One that names none takes
// the default type of the vhost (null: none) where it is set: the type of the queue that is there
// (`current`, null: none), so that a default may change under clients that declare again; for a new
// queue the default itself, if the queue may have it (durable, not exclusive, not auto-delete). A
// quorum queue is durable whatever was said, unless it is exclusive.
void settle_queue_type(const cluster::metadata::VhostRecord* vhost,
                       const cluster::metadata::QueueRecord* current,
                       cluster::metadata::QueueRecord& wanted);

// The dead letter exchange of a declaration, as its permissions need it before anything else is
// looked at: kAbsent, kName (in `name`) or kWrongType (its type name in `name`).
enum class NamedExchange : std::uint8_t { kAbsent, kName, kWrongType };
NamedExchange exchange_argument(std::span<const std::uint8_t> arguments, std::string_view key,
                                std::string& name);

// The arguments of basic.consume; false as above. Unknown ones are not looked at.
struct ConsumerArguments {
  std::int32_t priority = 0;  // x-priority, held to 32 bits
};
bool decode_consumer_arguments(std::span<const std::uint8_t> arguments, std::string_view vhost,
                               std::string_view queue, cluster::metadata::QueueType type,
                               ConsumerArguments& out, amqp::AmqpError& error);

}  // namespace ringtail::broker
