// Messages and bytes for the tests of queue/store.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "broker/runtime/bytes.h"
#include "queue/message.h"
#include "queue/store/byte_buffer.h"
#include "queue/store/message_codec.h"

namespace ringtail::queue::store::test {

using runtime::as_bytes;
using runtime::as_text;

struct Parts {
  std::string exchange;
  std::string key;
  std::string properties;
  std::string body;
  std::string blind_keys;
  Message::Traits traits;
};

inline MessageRef make(const Parts& parts) {
  std::string route(1, static_cast<char>(parts.exchange.size()));
  route += parts.exchange;
  route += static_cast<char>(parts.key.size());
  route += parts.key;
  MessageRef message(Message::create(as_bytes(route), as_bytes(parts.properties), parts.body.size(),
                                     parts.traits, as_bytes(parts.blind_keys)));
  message->append_body(as_bytes(parts.body));
  return message;
}

inline MessageRef make(const std::string& body) {
  Parts parts;
  parts.exchange = "x";
  parts.key = "key";
  parts.body = body;
  parts.traits.persistent = true;
  return make(parts);
}

inline std::string body_of(const Message& message) {
  if (message.body_is_inline()) return std::string(as_text(message.inline_body()));
  std::string all;
  for (const runtime::Bytes& piece : message.large_body().pieces()) all += as_text(piece.span());
  return all;
}

inline bool same(const Message& one, const Message& other) {
  const Message::Traits& a = one.traits();
  const Message::Traits& b = other.traits();
  return as_text(one.route()) == as_text(other.route()) &&
         as_text(one.properties()) == as_text(other.properties()) &&
         as_text(one.blind_keys()) == as_text(other.blind_keys()) &&
         body_of(one) == body_of(other) && a.persistent == b.persistent &&
         a.has_priority == b.has_priority && a.priority == b.priority &&
         a.expiration_ms == b.expiration_ms;
}

inline bool same(const StoredMessage& one, const StoredMessage& other) {
  return one.position == other.position && one.expires_at_ms == other.expires_at_ms &&
         one.delivered == other.delivered && same(*one.message, *other.message);
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t number() { return engine_(); }
  std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }
  bool chance(std::uint64_t one_in) { return below(one_in) == 0; }
  // Small ones and large ones alike.
  std::uint64_t any_size() { return engine_() >> below(64); }
  std::string text(std::size_t size) {
    std::string out(size, '\0');
    for (char& byte : out) byte = static_cast<char>(engine_());
    return out;
  }
  MessageRef message(std::size_t largest = 300'000) {
    Parts parts;
    parts.exchange = text(below(4) == 0 ? below(256) : below(8));
    parts.key = text(below(4) == 0 ? below(256) : below(8));
    parts.properties = text(chance(8) ? below(1000) : below(20));
    parts.body = text(chance(10) ? below(largest) : below(200));
    if (chance(4)) parts.blind_keys = text(1 + below(40));
    parts.traits.persistent = !chance(3);
    parts.traits.has_priority = chance(3);
    if (parts.traits.has_priority) parts.traits.priority = static_cast<std::uint8_t>(number());
    if (chance(3)) parts.traits.expiration_ms = any_size();
    return make(parts);
  }

 private:
  std::mt19937_64 engine_;
};

inline std::vector<std::uint8_t> bytes_of(const ByteBuffer& buffer) {
  return {buffer.data(), buffer.data() + buffer.size()};
}

inline std::string hex(std::span<const std::uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const std::uint8_t byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

}  // namespace ringtail::queue::store::test
