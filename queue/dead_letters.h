// Where a queue gives the messages that it drops by rule. The queue layer does not route: the
// broker implements this (STYLE L3).
#pragma once

#include <cstdint>
#include <memory>

#include "cluster/metadata/records.h"
#include "queue/message.h"

namespace ringtail::queue {

// In x-death: "rejected", "expired", "maxlen", "delivery_limit".
enum class DeathReason : std::uint8_t { kRejected, kExpired, kMaxLength, kDeliveryLimit };

// One per shard, on its thread; outlives the queues.
class DeadLetterSink {
 public:
  virtual ~DeadLetterSink() = default;
  // The message has left `queue` for `reason`. Called only where options.dead_letter_exchange is
  // set; `options` are those in force (arguments and policies merged). The order of the calls is
  // kept on the way to each target. Never acts inside the call on any queue: what it sends leaves
  // at the end of the turn.
  virtual void dead_letter(const std::shared_ptr<const cluster::metadata::QueueRecord>& queue,
                           const cluster::metadata::QueueOptions& options, DeathReason reason,
                           MessageRef message) = 0;
};

}  // namespace ringtail::queue
