#include "queue/store/message_codec.h"

#include <limits>

#include "queue/store/format_parts.h"

namespace ringtail::queue::store {

namespace {

enum : std::uint8_t {
  kPersistent = 1,
  kHasPriority = 2,
  kHasExpiration = 4,
  kHasBlindKeys = 8,
  kAllFlags = 15,
};
// A message that was built without a route has two empty names.
constexpr std::size_t kEmptyRouteSize = 2;

// Two short strings, as they stand.
std::span<const std::uint8_t> take_route(ByteReader& in) {
  const std::uint8_t exchange_size = in.get_octet();
  const std::span<const std::uint8_t> exchange = in.take(exchange_size);
  const std::uint8_t key_size = in.get_octet();
  in.take(key_size);
  if (!in.ok()) return {};
  return {exchange.data() - 1, std::size_t{2} + exchange_size + key_size};
}

}  // namespace

std::size_t content_size_max(const Message& message) {
  constexpr std::size_t kFlagsAndPriority = 2;
  constexpr std::size_t kVarints = 4;
  return kFlagsAndPriority + kVarints * ByteBuffer::kVarintMax + kEmptyRouteSize +
         message.route().size() + message.properties().size() + message.blind_keys().size() +
         static_cast<std::size_t>(message.body_size());
}

std::uint8_t* write_content(std::uint8_t* at, const Message& message) {
  RT_DCHECK(message.body_complete(), "the body is still coming");
  const Message::Traits& traits = message.traits();
  const std::span<const std::uint8_t> blind_keys = message.blind_keys();
  const bool expires = traits.expiration_ms != kNoExpiration;
  *at++ = static_cast<std::uint8_t>(
      (traits.persistent ? kPersistent : 0) | (traits.has_priority ? kHasPriority : 0) |
      (expires ? kHasExpiration : 0) | (blind_keys.empty() ? 0 : kHasBlindKeys));
  if (traits.has_priority) *at++ = traits.priority;
  if (expires) at = write_varint(at, traits.expiration_ms);
  if (message.route().empty()) {
    for (std::size_t i = 0; i < kEmptyRouteSize; ++i) *at++ = 0;
  } else {
    at = write_bytes(at, message.route());
  }
  at = write_varint(at, message.properties().size());
  at = write_bytes(at, message.properties());
  if (!blind_keys.empty()) {
    at = write_varint(at, blind_keys.size());
    at = write_bytes(at, blind_keys);
  }
  at = write_varint(at, message.body_size());
  if (message.body_is_inline()) return write_bytes(at, message.inline_body());
  for (const runtime::Bytes& piece : message.large_body().pieces()) {
    at = write_bytes(at, piece.span());
  }
  return at;
}

void put_content(ByteBuffer& out, const Message& message) {
  std::uint8_t* const begin = out.reserve(content_size_max(message));
  out.advance(static_cast<std::size_t>(write_content(begin, message) - begin));
}

MessageRef get_content(ByteReader& in) {
  const std::uint8_t flags = in.get_octet();
  if ((flags & ~kAllFlags) != 0) return {};
  Message::Traits traits;
  traits.persistent = (flags & kPersistent) != 0;
  traits.has_priority = (flags & kHasPriority) != 0;
  if (traits.has_priority) traits.priority = in.get_octet();
  if ((flags & kHasExpiration) != 0) traits.expiration_ms = in.get_varint();
  const std::span<const std::uint8_t> route = take_route(in);
  const std::span<const std::uint8_t> properties = in.take(in.get_varint());
  std::span<const std::uint8_t> blind_keys;
  if ((flags & kHasBlindKeys) != 0) blind_keys = in.take(in.get_varint());
  const std::span<const std::uint8_t> body = in.take(in.get_varint());
  constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max();  // of a message's parts
  if (!in.ok() || properties.size() > kMost || blind_keys.size() > kMost) return {};
  MessageRef message(Message::create(route, properties, body.size(), traits, blind_keys));
  message->append_body(body);
  return message;
}

}  // namespace ringtail::queue::store
