// The frame reader: however the stream is cut, the same frames and the same fault come out.
// Input: 2 octets of payload limit, 1 that seeds the cutting, then the stream.
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "broker/amqp/frame_reader.h"
#include "broker/runtime/check.h"

namespace {

using namespace ringtail::amqp;
using Buffer = std::vector<std::uint8_t>;

struct Seen {
  FrameType type;
  std::uint16_t channel;
  std::uint32_t size;
  Buffer payload;
  bool complete;
  bool operator==(const Seen&) const = default;
};

struct Outcome {
  std::vector<Seen> frames;
  FrameFault fault = FrameFault::kNone;
  std::uint32_t fault_value = 0;
  bool operator==(const Outcome&) const = default;
};

void take(const Frame& frame, Outcome& outcome) {
  if (outcome.frames.empty() || outcome.frames.back().complete) {
    outcome.frames.push_back({frame.type, frame.channel, frame.frame_size, {}, false});
  }
  Seen& seen = outcome.frames.back();
  RT_CHECK(frame.type == seen.type && frame.channel == seen.channel, "parts of one frame differ");
  RT_CHECK(frame.frame_size == seen.size, "parts of one frame differ in its size");
  RT_CHECK(frame.type == FrameType::kBody || frame.last_part, "only bodies come in parts");
  RT_CHECK(!frame.payload.empty() || frame.frame_size == 0, "an empty part");
  seen.payload.insert(seen.payload.end(), frame.payload.begin(), frame.payload.end());
  RT_CHECK(seen.payload.size() <= seen.size, "more payload than the frame has");
  RT_CHECK(frame.last_part == (seen.payload.size() == seen.size), "last part at the wrong place");
  seen.complete = frame.last_part;
}

// Feeds the stream in pieces whose sizes `next_size` gives.
template <typename NextSize>
Outcome feed(std::span<const std::uint8_t> stream, std::uint32_t payload_max, NextSize next_size) {
  Outcome outcome;
  FrameReader reader;
  reader.set_payload_max(payload_max);
  Buffer held;
  while (!stream.empty()) {
    const std::size_t part = std::clamp<std::size_t>(next_size(), 1, stream.size());
    // A new block of exactly this size, so that AddressSanitizer sees a read behind it.
    Buffer grown(held.size() + part);
    std::copy(held.begin(), held.end(), grown.begin());
    std::copy_n(stream.begin(), part, grown.begin() + static_cast<std::ptrdiff_t>(held.size()));
    stream = stream.subspan(part);
    std::span<const std::uint8_t> left(grown);
    Frame frame{};
    FrameReader::Outcome got = reader.next(left, frame);
    for (; got == FrameReader::Outcome::kFrame; got = reader.next(left, frame)) {
      take(frame, outcome);
    }
    if (got == FrameReader::Outcome::kFault) {
      outcome.fault = reader.fault();
      outcome.fault_value = reader.fault_value();
      RT_CHECK(outcome.fault != FrameFault::kNone, "a fault without a reason");
      break;
    }
    held.assign(left.begin(), left.end());
  }
  // How much of an unfinished body has come out depends on the cutting.
  if (!outcome.frames.empty() && !outcome.frames.back().complete) outcome.frames.pop_back();
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const std::uint32_t payload_max = static_cast<std::uint32_t>(data[0]) << 8 | data[1];
  std::uint32_t seed = data[2] + 1u;
  const std::span<const std::uint8_t> stream(data + 3, size - 3);
  const Outcome whole = feed(stream, payload_max, [&] { return stream.size(); });
  // Byte by byte costs a block a byte: over the front of a long stream only.
  const std::span<const std::uint8_t> front =
      stream.first(std::min<std::size_t>(stream.size(), 600));
  RT_CHECK(feed(front, payload_max, [] { return std::size_t{1}; }) ==
               feed(front, payload_max, [&] { return front.size(); }),
           "byte by byte gives other frames");
  const Outcome cut = feed(stream, payload_max, [&seed]() -> std::size_t {
    seed = seed * 1664525u + 1013904223u;
    return seed >> 24 & 0x3F;
  });
  RT_CHECK(whole == cut, "another cutting gives other frames");
  for (const Seen& seen : whole.frames) RT_CHECK(seen.size <= payload_max, "limit not kept");
  return 0;
}
