#include "broker/amqp/frame_writer.h"

#include <algorithm>
#include <utility>

namespace ringtail::amqp {

namespace {

void write_content_body(runtime::OutChain& out, std::uint16_t channel, const Content& content,
                        std::uint32_t frame_max) {
  if (content.chain == nullptr) {
    write_body(out, channel, content.body, frame_max);
  } else {
    write_body(out, channel, *content.chain, frame_max);
  }
}

// Opens a method frame of `arguments` bytes; the caller reserves and advances.
std::uint8_t* store_method_head(std::uint8_t* at, std::uint16_t channel, std::uint32_t key,
                                std::size_t arguments) {
  at = store_frame_header(at, FrameType::kMethod, channel,
                          static_cast<std::uint32_t>(4 + arguments));
  return store_u32(at, key);
}

// The pieces of a chain, handed out in runs of any size.
class PieceCursor {
 public:
  explicit PieceCursor(const runtime::BytesChain& chain) : chain_(chain) {}

  void write_to(runtime::OutChain& out, std::size_t size) {
    while (size != 0) {
      const runtime::Bytes& piece = chain_.pieces()[index_];
      const std::size_t part = std::min(size, piece.size() - offset_);
      if (part <= runtime::kCopyOutMax) {
        out.append_copy(piece.data() + offset_, part);
      } else {
        out.append(piece.slice(offset_, part));
      }
      size -= part;
      offset_ += part;
      if (offset_ == piece.size()) {
        ++index_;
        offset_ = 0;
      }
    }
  }

 private:
  const runtime::BytesChain& chain_;
  std::size_t index_ = 0;
  std::size_t offset_ = 0;
};

}  // namespace

void write_heartbeat(runtime::OutChain& out) {
  std::uint8_t* at = out.reserve(kFrameEnvelope);
  at = store_frame_header(at, FrameType::kHeartbeat, 0, 0);
  *at = kFrameEnd;
  out.advance(kFrameEnvelope);
}

void write_protocol_header(runtime::OutChain& out) {
  out.append_copy(kProtocolHeader, sizeof kProtocolHeader);
}

void write_body(runtime::OutChain& out, std::uint16_t channel, std::span<const std::uint8_t> body,
                std::uint32_t frame_max) {
  const std::size_t payload_max = body_payload_max(frame_max);
  while (!body.empty()) {
    const std::size_t part = std::min(body.size(), payload_max);
    std::uint8_t* at = out.reserve(kFrameEnvelope + part);
    at = store_frame_header(at, FrameType::kBody, channel, static_cast<std::uint32_t>(part));
    at = store_bytes(at, body.data(), part);
    *at = kFrameEnd;
    out.advance(kFrameEnvelope + part);
    body = body.subspan(part);
  }
}

void write_body(runtime::OutChain& out, std::uint16_t channel, const runtime::BytesChain& body,
                std::uint32_t frame_max) {
  const std::size_t payload_max = body_payload_max(frame_max);
  PieceCursor cursor(body);
  std::size_t left = body.size();
  while (left != 0) {
    const std::size_t part = std::min(left, payload_max);
    store_frame_header(out.reserve(kFrameHeaderSize), FrameType::kBody, channel,
                       static_cast<std::uint32_t>(part));
    out.advance(kFrameHeaderSize);
    cursor.write_to(out, part);
    out.append_copy(&kFrameEnd, 1);
    left -= part;
  }
}

void write_content(runtime::OutChain& out, std::uint16_t channel, const Content& content,
                   std::uint32_t frame_max) {
  const std::span<const std::uint8_t> properties = detail::properties_or_none(content);
  const std::size_t size = detail::kHeaderFrameFixed + properties.size();
  detail::store_header_frame(out.reserve(size), channel, properties, content.body_size());
  out.advance(size);
  write_content_body(out, channel, content, frame_max);
}

void write_get_ok(runtime::OutChain& out, const GetOk& get_ok) {
  const std::size_t arguments = 8 + 1 + get_ok.route.size() + 4;
  std::uint8_t* at = out.reserve(kFrameEnvelope + 4 + arguments);
  at = store_method_head(at, get_ok.channel, kMethodKey<BasicGetOk>, arguments);
  at = store_u64(at, get_ok.delivery_tag);
  at = store_u8(at, get_ok.redelivered ? 1 : 0);
  at = store_bytes(at, get_ok.route.data(), get_ok.route.size());
  at = store_u32(at, get_ok.message_count);
  *at = kFrameEnd;
  out.advance(kFrameEnvelope + 4 + arguments);
  write_content(out, get_ok.channel, get_ok.content, get_ok.frame_max);
}

void write_return(runtime::OutChain& out, const Return& returned) {
  const std::size_t arguments =
      2 + 1 + short_string_size(returned.reply_text) + returned.route.size();
  std::uint8_t* at = out.reserve(kFrameEnvelope + 4 + arguments);
  at = store_method_head(at, returned.channel, kMethodKey<BasicReturn>, arguments);
  at = store_u16(at, returned.reply_code);
  at = store_short_string(at, returned.reply_text);
  at = store_bytes(at, returned.route.data(), returned.route.size());
  *at = kFrameEnd;
  out.advance(kFrameEnvelope + 4 + arguments);
  write_content(out, returned.channel, returned.content, returned.frame_max);
}

}  // namespace ringtail::amqp
