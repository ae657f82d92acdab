#include "queue/message_wire.h"

#include <limits>
#include <span>

#include "broker/runtime/check.h"
#include "queue/store/format_parts.h"

namespace ringtail::queue {

using store::ByteReader;
using store::write_bytes;
using store::write_varint;

namespace {

enum : std::uint8_t {
  kPersistent = 1,
  kHasPriority = 2,
  kHasExpiration = 4,
  kHasBlindKeys = 8,
  kAllFlags = 15,
};

// Exchange and routing key, as two short strings; a message that was built without has none.
bool is_route(std::span<const std::uint8_t> route) {
  if (route.empty()) return true;
  const std::size_t key = std::size_t{1} + route[0];
  return key < route.size() && key + 1 + route[key] == route.size();
}

}  // namespace

std::uint8_t* write_message_head(std::uint8_t* at, const Message& message) {
  const Message::Traits& traits = message.traits();
  const bool expires = traits.expiration_ms != kNoExpiration;
  const bool blind = !message.blind_keys().empty();
  *at++ = static_cast<std::uint8_t>((traits.persistent ? kPersistent : 0) |
                                    (traits.has_priority ? kHasPriority : 0) |
                                    (expires ? kHasExpiration : 0) | (blind ? kHasBlindKeys : 0));
  if (traits.has_priority) *at++ = traits.priority;
  if (expires) at = write_varint(at, traits.expiration_ms);
  at = write_varint(at, message.route().size());
  at = write_varint(at, message.properties().size());
  if (blind) at = write_varint(at, message.blind_keys().size());
  return write_varint(at, message.body_size());
}

void put_message_octets(const Message& message, runtime::OutChain& out) {
  RT_DCHECK(message.body_complete(), "the body is still coming");
  const bool inlined = message.body_is_inline();
  const std::size_t size = message.route().size() + message.properties().size() +
                           message.blind_keys().size() +
                           (inlined ? static_cast<std::size_t>(message.body_size()) : 0);
  if (size != 0) {
    std::uint8_t* at = out.reserve(size);
    at = write_bytes(at, message.route());
    at = write_bytes(at, message.properties());
    at = write_bytes(at, message.blind_keys());
    if (inlined) write_bytes(at, message.inline_body());
    out.advance(size);
  }
  if (inlined) return;
  for (const runtime::Bytes& piece : message.large_body().pieces()) out.append(piece);
}

MessageRef take_message(ByteReader& heads, ByteReader& octets) {
  const std::uint8_t flags = heads.get_octet();
  if ((flags & ~kAllFlags) != 0) return {};
  Message::Traits traits;
  traits.persistent = (flags & kPersistent) != 0;
  traits.has_priority = (flags & kHasPriority) != 0;
  if (traits.has_priority) traits.priority = heads.get_octet();
  if ((flags & kHasExpiration) != 0) traits.expiration_ms = heads.get_varint();
  const std::uint64_t route_size = heads.get_varint();
  const std::uint64_t properties_size = heads.get_varint();
  const std::uint64_t blind_size = (flags & kHasBlindKeys) != 0 ? heads.get_varint() : 0;
  const std::uint64_t body_size = heads.get_varint();
  if (!heads.ok()) return {};
  const std::span<const std::uint8_t> route = octets.take(route_size);
  const std::span<const std::uint8_t> properties = octets.take(properties_size);
  const std::span<const std::uint8_t> blind_keys = octets.take(blind_size);
  const std::span<const std::uint8_t> body = octets.take(body_size);
  constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max();  // of a message's parts
  if (!octets.ok() || !is_route(route) || properties.size() > kMost || blind_keys.size() > kMost) {
    return {};
  }
  MessageRef message(Message::create(route, properties, body.size(), traits, blind_keys));
  message->append_body(body);
  return message;
}

}  // namespace ringtail::queue
