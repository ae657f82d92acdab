// Shared by the tests of broker/amqp: bytes from text, output gathered, input cut into frames.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "broker/amqp/frame_reader.h"
#include "broker/runtime/bytes.h"

namespace ringtail::amqp {

using Buffer = std::vector<std::uint8_t>;

// "S 00 00 00 02 'hi'": hex octets, and texts between single quotes.
inline Buffer wire(std::string_view text) {
  Buffer out;
  const auto digit = [](char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text[i] == '\'') {
      for (++i; text[i] != '\''; ++i) out.push_back(static_cast<std::uint8_t>(text[i]));
    } else {
      out.push_back(static_cast<std::uint8_t>(digit(text[i]) << 4 | digit(text[i + 1])));
      ++i;
    }
  }
  return out;
}

// The same, for what goes on being looked at: lives until the program ends.
inline const Buffer& kept_wire(std::string_view text) {
  static std::deque<Buffer> kept;
  return kept.emplace_back(wire(text));
}

inline Buffer to_buffer(std::string_view text) { return {text.begin(), text.end()}; }
inline Buffer to_buffer(std::span<const std::uint8_t> bytes) {
  return {bytes.begin(), bytes.end()};
}
inline std::string to_string(std::span<const std::uint8_t> bytes) {
  return std::string(runtime::as_text(bytes));
}

// Everything in the chain, which is empty afterwards.
inline Buffer drain(runtime::OutChain& out) {
  Buffer all;
  while (!out.empty()) {
    runtime::OutChain::Piece pieces[4];
    const std::size_t count = out.peek(pieces);
    std::size_t size = 0;
    for (std::size_t i = 0; i < count; ++i) {
      all.insert(all.end(), pieces[i].data, pieces[i].data + pieces[i].size);
      size += pieces[i].size;
    }
    out.consume(size);
  }
  return all;
}

// A frame with its parts put together.
struct WholeFrame {
  FrameType type{};
  std::uint16_t channel = 0;
  Buffer payload;
  int parts = 0;
  bool operator==(const WholeFrame& other) const {
    return type == other.type && channel == other.channel && payload == other.payload;
  }
};

struct ReadResult {
  std::vector<WholeFrame> frames;
  FrameFault fault = FrameFault::kNone;
  std::uint32_t fault_value = 0;
  std::size_t left = 0;  // bytes not taken
};

// Reads `input` as a stream that arrives in pieces of `step` bytes.
inline ReadResult read_frames(std::span<const std::uint8_t> input, std::size_t step,
                              std::uint32_t payload_max) {
  ReadResult result;
  FrameReader reader;
  reader.set_payload_max(payload_max);
  Buffer held;  // what the reader left, and what came since; exact size, so that ASan sees overruns
  bool open = false;
  for (std::size_t at = 0; at < input.size();) {
    const std::size_t part = std::min(step, input.size() - at);
    Buffer grown(held);
    grown.insert(grown.end(), input.begin() + static_cast<std::ptrdiff_t>(at),
                 input.begin() + static_cast<std::ptrdiff_t>(at + part));
    held.swap(grown);
    at += part;
    std::span<const std::uint8_t> left(held);
    for (;;) {
      Frame frame{};
      const FrameReader::Outcome outcome = reader.next(left, frame);
      if (outcome == FrameReader::Outcome::kNeedMore) break;
      if (outcome == FrameReader::Outcome::kFault) {
        result.fault = reader.fault();
        result.fault_value = reader.fault_value();
        result.left = left.size() + input.size() - at;
        return result;
      }
      if (!open) result.frames.push_back({frame.type, frame.channel, {}, 0});
      WholeFrame& whole = result.frames.back();
      CHECK(whole.type == frame.type);
      CHECK(whole.channel == frame.channel);
      CHECK((frame.type == FrameType::kBody || frame.last_part));
      CHECK((!frame.payload.empty() || frame.frame_size == 0));
      whole.payload.insert(whole.payload.end(), frame.payload.begin(), frame.payload.end());
      ++whole.parts;
      open = !frame.last_part;
      if (!open) CHECK(whole.payload.size() == frame.frame_size);
    }
    held = to_buffer(left);
  }
  result.left = held.size();
  if (open) result.frames.pop_back();
  return result;
}

}  // namespace ringtail::amqp
