// Frames out: methods, content and heartbeats appended to a connection's OutChain (AMQP
// 0-9-1, 2.3.5 and 4.2.3). Never fails; what it writes is whole frames.
//
// `frame_max` is the negotiated size of a whole frame, 0 for no limit; only bodies are split by it,
// since a method or header cannot be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "broker/amqp/content_header.h"
#include "broker/amqp/frame_reader.h"
#include "broker/amqp/methods.h"
#include "broker/amqp/wire.h"
#include "broker/runtime/bytes.h"
#include "broker/runtime/limits.h"

namespace ringtail::amqp {

// Body bytes that one frame takes.
constexpr std::uint32_t body_payload_max(std::uint32_t frame_max) {
  return frame_max == 0 ? 0x7FFFFFFF : frame_max - static_cast<std::uint32_t>(kFrameEnvelope);
}

inline std::uint8_t* store_frame_header(std::uint8_t* at, FrameType type, std::uint16_t channel,
                                        std::uint32_t payload_size) {
  at = store_u8(at, static_cast<std::uint8_t>(type));
  at = store_u16(at, channel);
  return store_u32(at, payload_size);
}

// One method frame.
template <typename Method>
void write_method(runtime::OutChain& out, std::uint16_t channel, const Method& method) {
  const std::size_t payload = 4 + method.encoded_size();
  std::uint8_t* at = out.reserve(kFrameEnvelope + payload);
  at = store_frame_header(at, FrameType::kMethod, channel, static_cast<std::uint32_t>(payload));
  at = store_u32(at, kMethodKey<Method>);
  at = method.encode(at);
  *at = kFrameEnd;
  out.advance(kFrameEnvelope + payload);
}

void write_heartbeat(runtime::OutChain& out);

// "AMQP" 0 0 9 1: the answer to a client that speaks another protocol or version, and what a
// client begins with.
inline constexpr std::uint8_t kProtocolHeader[8] = {'A', 'M', 'Q', 'P', 0, 0, 9, 1};
void write_protocol_header(runtime::OutChain& out);

// What follows a method that has content. The body is `chain` when that is set, else `body`.
struct Content {
  std::span<const std::uint8_t> properties;  // flag words and values; empty counts as no properties
  std::span<const std::uint8_t> body;
  const runtime::BytesChain* chain = nullptr;

  std::size_t body_size() const { return chain == nullptr ? body.size() : chain->size(); }
};

// Header frame and body frames of the basic class.
void write_content(runtime::OutChain& out, std::uint16_t channel, const Content& content,
                   std::uint32_t frame_max);

// Body frames alone; none for an empty body.
void write_body(runtime::OutChain& out, std::uint16_t channel, std::span<const std::uint8_t> body,
                std::uint32_t frame_max);
// Pieces of up to runtime::kCopyOutMax are copied, larger ones slipped in as slices.
void write_body(runtime::OutChain& out, std::uint16_t channel, const runtime::BytesChain& body,
                std::uint32_t frame_max);

// A method with content and the content. `route` is the exchange and the routing key as two short
// strings, the way a message keeps them.
struct Deliver {
  std::uint16_t channel = 0;
  bool redelivered = false;
  std::uint32_t frame_max = 0;
  std::uint64_t delivery_tag = 0;
  std::string_view consumer_tag;  // at most 255 bytes
  std::span<const std::uint8_t> route;
  Content content;
};
struct GetOk {
  std::uint16_t channel = 0;
  bool redelivered = false;
  std::uint32_t frame_max = 0;
  std::uint64_t delivery_tag = 0;
  std::uint32_t message_count = 0;
  std::span<const std::uint8_t> route;
  Content content;
};
struct Return {
  std::uint16_t channel = 0;
  std::uint16_t reply_code = 312;
  std::uint32_t frame_max = 0;
  std::string_view reply_text = "NO_ROUTE";
  std::span<const std::uint8_t> route;
  Content content;
};

inline void write_deliver(runtime::OutChain& out, const Deliver& deliver);
void write_get_ok(runtime::OutChain& out, const GetOk& get_ok);
void write_return(runtime::OutChain& out, const Return& returned);

namespace detail {

inline constexpr std::uint16_t kBasicClass = BasicDeliver::kClassId;
// Frame header, class, weight, body size, frame end; the properties come on top.
inline constexpr std::size_t kHeaderFrameFixed = kFrameEnvelope + 12;

inline std::uint8_t* store_header_frame(std::uint8_t* at, std::uint16_t channel,
                                        std::span<const std::uint8_t> properties,
                                        std::uint64_t body_size) {
  at = store_frame_header(at, FrameType::kHeader, channel,
                          static_cast<std::uint32_t>(12 + properties.size()));
  at = store_u32(at, static_cast<std::uint32_t>(kBasicClass) << 16);  // class, weight 0
  at = store_u64(at, body_size);
  at = store_bytes(at, properties.data(), properties.size());
  return store_u8(at, kFrameEnd);
}

inline std::span<const std::uint8_t> properties_or_none(const Content& content) {
  return content.properties.empty() ? std::span<const std::uint8_t>(kNoProperties)
                                    : content.properties;
}

}  // namespace detail

// The hot path: one reserve and plain stores for a message whose body fits one frame.
inline void write_deliver(runtime::OutChain& out, const Deliver& deliver) {
  const Content& content = deliver.content;
  const std::span<const std::uint8_t> properties = detail::properties_or_none(content);
  const std::size_t tag_size = short_string_size(deliver.consumer_tag);
  // Class and method, the tag's length and the tag, delivery tag, redelivered, route.
  const std::size_t payload = 4 + 1 + tag_size + 8 + 1 + deliver.route.size();
  const std::size_t head = kFrameEnvelope + payload + detail::kHeaderFrameFixed + properties.size();
  const std::size_t body_size = content.body_size();
  const bool whole = content.chain == nullptr && body_size <= runtime::kCopyOutMax &&
                     body_size <= body_payload_max(deliver.frame_max);
  const std::size_t size = head + (whole && body_size != 0 ? kFrameEnvelope + body_size : 0);

  std::uint8_t* at = out.reserve(size);
  at = store_frame_header(at, FrameType::kMethod, deliver.channel,
                          static_cast<std::uint32_t>(payload));
  at = store_u32(at, kMethodKey<BasicDeliver>);
  at = store_short_string(at, deliver.consumer_tag);
  at = store_u64(at, deliver.delivery_tag);
  at = store_u8(at, deliver.redelivered ? 1 : 0);
  at = store_bytes(at, deliver.route.data(), deliver.route.size());
  at = store_u8(at, kFrameEnd);
  at = detail::store_header_frame(at, deliver.channel, properties, body_size);
  if (whole && body_size != 0) {
    at = store_frame_header(at, FrameType::kBody, deliver.channel,
                            static_cast<std::uint32_t>(body_size));
    at = store_bytes(at, content.body.data(), body_size);
    store_u8(at, kFrameEnd);
  }
  out.advance(size);
  if (!whole) {
    if (content.chain == nullptr) {
      write_body(out, deliver.channel, content.body, deliver.frame_max);
    } else {
      write_body(out, deliver.channel, *content.chain, deliver.frame_max);
    }
  }
}

}  // namespace ringtail::amqp
