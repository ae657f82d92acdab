// The Gateway of a node: hands calls to the shards' threads and waits for them.
#pragma once

#include <functional>

#include "broker/http/gateway.h"

namespace ringtail::broker::http {

class ShardGateway final : public Gateway {
 public:
  using ShardCall = std::function<void(BrokerShard&)>;
  // Puts a call in a shard's line, from any thread. A shard that stops first drops it, and with it
  // everything that the function holds.
  using Post = std::function<void(runtime::ShardId shard, ShardCall call)>;

  // `timeout_ms`: how long a shard may take (kGatewayTimeoutMs but in tests).
  ShardGateway(std::uint16_t shards, Post post, std::uint64_t timeout_ms);

  std::uint16_t shards() const override { return shards_; }
  runtime::Status on_shard(runtime::ShardId shard,
                           const std::function<void(BrokerShard&)>& call) override;
  runtime::Status on_shard_later(
      runtime::ShardId shard,
      const std::function<void(BrokerShard&, std::function<void()> done)>& call) override;

 private:
  const std::uint16_t shards_;
  const Post post_;
  const std::uint64_t timeout_ms_;
};

}  // namespace ringtail::broker::http
