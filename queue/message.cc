#include "queue/message.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "broker/runtime/check.h"
#include "broker/runtime/copy_bytes.h"
#include "broker/runtime/limits.h"
#include "broker/runtime/memory_gauge.h"

namespace ringtail::queue {

namespace {

// Blocks of a large body: a body that is announced but does not arrive must cost little, so that
// blocks begin small and grow with what has arrived.
constexpr std::uint64_t kBodyBlockMin = 16 * 1024;
constexpr std::uint64_t kBodyBlockMax = 128 * 1024;

// A short string: a length octet and its bytes.
std::string_view short_string(std::span<const std::uint8_t> at) {
  return at.empty() ? std::string_view() : runtime::as_text(at.subspan(1, at[0]));
}

}  // namespace

Message* Message::create(std::span<const std::uint8_t> route,
                         std::span<const std::uint8_t> properties, std::uint64_t body_size,
                         const Traits& traits, std::span<const std::uint8_t> blind_keys) {
  const std::size_t inline_size =
      body_size <= runtime::kInlineBodyMax ? static_cast<std::size_t>(body_size) : 0;
  const std::size_t size =
      sizeof(Message) + route.size() + properties.size() + inline_size + blind_keys.size();
  void* memory = std::malloc(size);
  RT_CHECK(memory != nullptr, "out of memory");
  runtime::MemoryGauge::add(static_cast<std::int64_t>(size));
  auto* message = new (memory) Message();
  message->properties_size_ = static_cast<std::uint32_t>(properties.size());
  message->route_size_ = static_cast<std::uint16_t>(route.size());
  message->blind_size_ = static_cast<std::uint32_t>(blind_keys.size());
  message->body_size_ = body_size;
  message->traits_ = traits;
  // memcpy must not see a null pointer.
  if (!route.empty()) std::memcpy(message->tail(), route.data(), route.size());
  if (!properties.empty()) {
    std::memcpy(message->tail() + route.size(), properties.data(), properties.size());
  }
  if (!blind_keys.empty()) {
    std::memcpy(message->tail() + route.size() + properties.size() + inline_size, blind_keys.data(),
                blind_keys.size());
  }
  return message;
}

Message* Message::create_around(const Message& body, std::span<const std::uint8_t> route,
                                std::span<const std::uint8_t> properties, const Traits& traits,
                                std::span<const std::uint8_t> blind_keys) {
  RT_CHECK(body.body_complete(), "the body is still coming");
  Message* message = create(route, properties, body.body_size_, traits, blind_keys);
  if (body.body_is_inline()) {
    message->append_body(body.inline_body());
  } else {
    message->large_body_ = body.large_body_;
    message->body_received_ = body.body_size_;
  }
  return message;
}

void Message::destroy(Message* message) {
  const std::size_t size = message->allocated();
  message->~Message();
  runtime::MemoryGauge::add(-static_cast<std::int64_t>(size));
  std::free(message);
}

void Message::append_body(std::span<const std::uint8_t> part) {
  RT_CHECK(part.size() <= body_missing(), "more body than announced");
  if (part.empty()) return;
  if (body_is_inline()) {
    runtime::copy_bytes(tail() + route_size_ + properties_size_ + body_received_, part.data(),
                        part.size());
    body_received_ += part.size();
    return;
  }
  while (!part.empty()) {
    const std::size_t size = std::min(part.size(), body_room(part.size()));
    // The chain's last piece covers its whole block from the start. Nobody else sees the
    // message before its body is complete, so that its bytes may still be written.
    const runtime::Bytes& last = large_body_.pieces().back();
    const std::size_t room = large_body_.size() - static_cast<std::size_t>(body_received_);
    runtime::copy_bytes(const_cast<std::uint8_t*>(last.data()) + (last.size() - room), part.data(),
                        size);
    body_received_ += size;
    part = part.subspan(size);
  }
}

std::size_t Message::body_room(std::size_t wanted) {
  const std::size_t room = large_body_.size() - static_cast<std::size_t>(body_received_);
  if (room > 0) return room;
  const std::uint64_t grown = std::max({std::uint64_t{wanted}, body_received_, kBodyBlockMin});
  const auto size =
      static_cast<std::size_t>(std::min({grown, kBodyBlockMax, body_size_ - body_received_}));
  runtime::Block* block = runtime::Block::create(size);
  large_body_.append(runtime::Bytes::adopt(block, block->data(), size));
  return size;
}

std::string_view Message::exchange() const { return short_string(route()); }

std::string_view Message::routing_key() const {
  const std::span<const std::uint8_t> whole = route();
  return whole.empty() ? std::string_view() : short_string(whole.subspan(1U + whole[0]));
}

}  // namespace ringtail::queue
