// What runs over a link behind its handshake: frames from the dialer, acknowledgements from the
// acceptor (docs/FORMATS.md, "Between nodes"). Pure; on any shard.
//
//   frame           = lane-and-size:long number:longlong crc:long payload(size bytes)
//   acknowledgement = number:longlong crc:long
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "broker/runtime/status.h"

namespace ringtail::cluster {

inline constexpr std::size_t kFrameHeaderSize = 16;
inline constexpr std::size_t kAcknowledgementSize = 12;

// A link carries one or two streams of envelopes, each in frames of its own.
using Lane = std::uint8_t;
inline constexpr Lane kLane = 0;      // of data, and of small control messages
inline constexpr Lane kBulkLane = 1;  // of large control messages
inline constexpr std::size_t kLanes = 2;

struct FrameHeader {
  Lane lane = kLane;
  std::uint32_t size = 0;    // of the payload
  std::uint64_t number = 0;  // frames are numbered from 1
};

// Writes the header but for its checksum, which it returns: to be continued over the payload
// (runtime::checksum) and then put by finish_frame_header().
std::uint32_t put_frame_header(std::uint8_t* to, const FrameHeader& header);
void finish_frame_header(std::uint8_t* header, std::uint32_t checksum);

void put_acknowledgement(std::uint8_t* to, std::uint64_t number);

// Cuts what arrives into frames and checks them.
class FrameReader {
 public:
  struct Frame {
    Lane lane = kLane;
    std::uint64_t number = 0;
    std::span<const std::uint8_t> payload;  // valid until the next call
  };
  enum class Step : std::uint8_t { kMore, kFrame, kFailed };

  // Takes a frame from the front of `data`. kMore: `data` is used up. kFailed: see failure(); the
  // connection cannot be read on.
  Step next(std::span<const std::uint8_t>& data, Frame& frame);
  const runtime::Status& failure() const { return failure_; }

 private:
  Step check(std::span<const std::uint8_t> whole, Frame& frame);
  Step fail(const char* text);
  bool hold(std::span<const std::uint8_t>& data, std::size_t size);

  std::vector<std::uint8_t> held_;  // a frame that is not whole yet
  bool given_ = false;              // held_ was handed out and is to be forgotten
  runtime::Status failure_;
};

// Reads acknowledgements.
class AcknowledgementReader {
 public:
  // `latest` is the last number among those that came whole; unchanged when none did.
  runtime::Status read(std::span<const std::uint8_t> data, std::uint64_t& latest);

 private:
  std::uint8_t held_[kAcknowledgementSize] = {};
  std::size_t size_ = 0;
};

}  // namespace ringtail::cluster
