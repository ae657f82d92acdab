// How the threads of the HTTP server reach the shards: nothing else crosses between them.
#pragma once

#include <cstdint>
#include <functional>

#include "broker/runtime/ids.h"
#include "broker/runtime/status.h"

namespace ringtail::broker {

class BrokerShard;

// Implemented by the node. Called on any thread that is no shard's.
class Gateway {
 public:
  virtual ~Gateway() = default;
  virtual std::uint16_t shards() const = 0;
  // Runs `call` on the shard's thread and waits until it has run. `call` may keep what it captures
  // by reference only while it runs. kClosed: the node is stopping, `call` will not run; kTimedOut:
  // the shard did not take it within kGatewayTimeoutMs, and `call` will not run later either.
  virtual runtime::Status on_shard(runtime::ShardId shard,
                                   const std::function<void(BrokerShard&)>& call) = 0;
  // The same for what ends later: `call` is given a function that it, or what it started, runs once
  // on any shard's thread to say that the answer is there. What both capture must outlive a
  // time-out: share it.
  virtual runtime::Status on_shard_later(
      runtime::ShardId shard,
      const std::function<void(BrokerShard&, std::function<void()> done)>& call) = 0;
};

}  // namespace ringtail::broker
