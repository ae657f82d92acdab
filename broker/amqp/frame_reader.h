// Bytes in, frames out (AMQP 0-9-1, 2.3.5 and 4.2.3). Pulls frames off a span of input; never
// waits, never copies, never allocates.
//
// A method, header or heartbeat frame comes out whole. A body frame may come out in parts, so that
// a large body needs no gathering: every part but the last has last_part == false. A part is empty
// only when the whole frame is; the last part comes only once its end octet has been seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "broker/amqp/wire.h"

namespace ringtail::amqp {

enum class FrameType : std::uint8_t { kMethod = 1, kHeader = 2, kBody = 3, kHeartbeat = 8 };

inline constexpr std::uint8_t kFrameEnd = 0xCE;
inline constexpr std::size_t kFrameHeaderSize = 7;
inline constexpr std::size_t kFrameEnvelope = 8;  // header and end byte

struct Frame {
  FrameType type;
  std::uint16_t channel;
  std::span<const std::uint8_t> payload;  // slices the input
  std::uint32_t frame_size;               // payload size of the whole frame
  bool last_part;                         // the frame is complete with this part
};

// Why the input is not AMQP; each is a connection error 501 FRAME_ERROR.
enum class FrameFault : std::uint8_t { kNone, kUnknownType, kTooLarge, kBadEnd };

class FrameReader {
 public:
  enum class Outcome : std::uint8_t { kFrame, kNeedMore, kFault };

  // Payload size above which a frame is a fault: frame_max - 8 once tuned, the initial limit
  // before.
  void set_payload_max(std::uint32_t bytes) { payload_max_ = bytes; }

  // Takes the next frame or part of a body frame off the front of `input`. kNeedMore leaves what is
  // left (less than a frame, or nothing) in `input`: give it again with more behind it.
  // After kFault it faults forever.
  Outcome next(std::span<const std::uint8_t>& input, Frame& frame) {
    if (input.size() < kFrameEnvelope || in_body_) return next_unusual(input, frame);
    const std::uint8_t* at = input.data();
    const std::uint32_t size = load_u32(at + 3);
    if (!known_type(at[0]) || size > payload_max_ || size > input.size() - kFrameEnvelope ||
        at[kFrameHeaderSize + size] != kFrameEnd) {
      return next_unusual(input, frame);
    }
    frame = {static_cast<FrameType>(at[0]), load_u16(at + 1), input.subspan(kFrameHeaderSize, size),
             size, true};
    input = input.subspan(kFrameEnvelope + size);
    return Outcome::kFrame;
  }

  FrameFault fault() const { return fault_; }
  // What was wrong, for the log and the reply text: the type octet, the size, or the end octet
  // seen.
  std::uint32_t fault_value() const { return fault_value_; }

 private:
  static bool known_type(std::uint8_t type) {
    return (type >= static_cast<std::uint8_t>(FrameType::kMethod) &&
            type <= static_cast<std::uint8_t>(FrameType::kBody)) ||
           type == static_cast<std::uint8_t>(FrameType::kHeartbeat);
  }
  // Everything but a whole and sound frame: faults, frames cut short, bodies in parts.
  Outcome next_unusual(std::span<const std::uint8_t>& input, Frame& frame);
  Outcome next_part(std::span<const std::uint8_t>& input, Frame& frame);
  Outcome fail(FrameFault fault, std::uint32_t value);

  std::uint32_t payload_max_ = 4096 - 8;
  std::uint32_t body_left_ = 0;  // payload bytes of the body frame that is coming in parts
  std::uint32_t body_size_ = 0;
  std::uint16_t body_channel_ = 0;
  bool in_body_ = false;
  FrameFault fault_ = FrameFault::kNone;
  std::uint32_t fault_value_ = 0;
};

}  // namespace ringtail::amqp
