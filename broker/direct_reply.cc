#include "broker/direct_reply.h"

#include <fmt/format.h>

#include <charconv>

namespace ringtail::broker {

namespace {

constexpr std::size_t kShardDigits = 4;

}  // namespace

std::optional<runtime::ShardId> shard_of_reply_name(std::string_view name) {
  if (!name.starts_with(kReplyTo)) return std::nullopt;
  name.remove_prefix(kReplyTo.size());
  if (name.size() < kShardDigits + 2 || name[0] != '.' || name[kShardDigits + 1] != '.') {
    return std::nullopt;
  }
  std::uint16_t shard = 0;
  const char* end = name.data() + 1 + kShardDigits;
  const auto [at, error] = std::from_chars(name.data() + 1, end, shard, 16);
  if (error != std::errc() || at != end) return std::nullopt;
  return runtime::ShardId{shard};
}

std::string make_reply_name(BrokerShard& broker_shard) {
  return broker_shard.generate_name(
      fmt::format("{}.{:04x}.", kReplyTo, broker_shard.shard().id().value));
}

}  // namespace ringtail::broker
