// Direct reply-to (RabbitMQ): a client that asks consumes from the pseudo-queue
// amq.rabbitmq.reply-to, and whoever answers publishes to the default exchange with the name that
// the request carried. No queue lies between: the answer goes from channel to channel, and is lost
// when the asker is gone.
//
// The name is "amq.rabbitmq.reply-to.", the asker's node in eight hexadecimal digits, a dot, its
// shard in four, a dot, and text that cannot be guessed. The BrokerShard of that shard knows which
// channel it stands for. Clients may make names up: what they lead to need not exist.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "broker/broker_shard.h"
#include "queue/message.h"

namespace ringtail::broker {

inline constexpr std::string_view kReplyTo = "amq.rabbitmq.reply-to";

inline bool names_reply_to(std::string_view name) { return name.starts_with(kReplyTo); }

// Where a reply name leads to; none when it is no such name.
struct ReplyPlace {
  runtime::NodeId node;
  runtime::ShardId shard;
};
std::optional<ReplyPlace> place_of_reply_name(std::string_view name);

// A name for a consumer of replies on this shard.
std::string make_reply_name(BrokerShard& broker_shard);

// An answer on its way: to the asker's BrokerShard, then to its channel.
struct DirectReply : runtime::Letter {
  DirectReply() : Letter(kDirectReply) {}
  std::string name;
  queue::MessageRef message;
};

// Does anybody consume replies under this name? Answered by ReplyProbed.
struct ProbeReply : runtime::Letter {
  ProbeReply() : Letter(kProbeReply) {}
  std::uint64_t request = 0;
  std::string name;
};
struct ReplyProbed : runtime::Letter {
  ReplyProbed() : Letter(kReplyProbed) {}
  std::uint64_t request = 0;
  bool exists = false;
};

}  // namespace ringtail::broker
