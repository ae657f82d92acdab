#include "broker/direct_reply.h"

#include <fmt/format.h>

#include <charconv>

namespace ringtail::broker {

namespace {

// ".<digits>" off the front of `text`; false when it does not begin so.
template <typename Number>
bool take_number(std::string_view& text, std::size_t digits, Number& number) {
  if (text.size() < digits + 1 || text[0] != '.') return false;
  const char* end = text.data() + 1 + digits;
  const auto [at, error] = std::from_chars(text.data() + 1, end, number, 16);
  if (error != std::errc() || at != end) return false;
  text.remove_prefix(1 + digits);
  return true;
}

}  // namespace

std::optional<ReplyPlace> place_of_reply_name(std::string_view name) {
  if (!name.starts_with(kReplyTo)) return std::nullopt;
  name.remove_prefix(kReplyTo.size());
  std::uint32_t node = 0;
  std::uint16_t shard = 0;
  if (!take_number(name, 8, node) || !take_number(name, 4, shard) || !name.starts_with('.')) {
    return std::nullopt;
  }
  return ReplyPlace{runtime::NodeId{node}, runtime::ShardId{shard}};
}

std::string make_reply_name(BrokerShard& broker_shard) {
  const runtime::Shard& shard = broker_shard.shard();
  return broker_shard.generate_name(
      fmt::format("{}.{:08x}.{:04x}.", kReplyTo, shard.node().value, shard.id().value));
}

}  // namespace ringtail::broker
