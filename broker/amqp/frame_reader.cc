#include "broker/amqp/frame_reader.h"

#include <algorithm>

namespace ringtail::amqp {

FrameReader::Outcome FrameReader::next_unusual(std::span<const std::uint8_t>& input, Frame& frame) {
  if (fault_ != FrameFault::kNone) return Outcome::kFault;
  if (in_body_) return next_part(input, frame);
  if (input.size() < kFrameHeaderSize) return Outcome::kNeedMore;

  const std::uint8_t* at = input.data();
  const std::uint32_t size = load_u32(at + 3);
  if (!known_type(at[0])) return fail(FrameFault::kUnknownType, at[0]);
  if (size > payload_max_) return fail(FrameFault::kTooLarge, size);
  // The end octet lies at index `size` of what follows the frame header.
  const std::span<const std::uint8_t> behind = input.subspan(kFrameHeaderSize);
  if (behind.size() > size) return fail(FrameFault::kBadEnd, behind[size]);
  if (at[0] != static_cast<std::uint8_t>(FrameType::kBody) || behind.size() < 2) {
    return Outcome::kNeedMore;
  }
  in_body_ = true;
  body_size_ = size;
  body_left_ = size;
  body_channel_ = load_u16(at + 1);
  input = behind;
  return next_part(input, frame);
}

FrameReader::Outcome FrameReader::next_part(std::span<const std::uint8_t>& input, Frame& frame) {
  const bool last = input.size() > body_left_;
  if (last && input[body_left_] != kFrameEnd) {
    return fail(FrameFault::kBadEnd, input[body_left_]);
  }
  // One byte stays back for the last part, which has to wait for the end octet.
  const std::size_t part = last ? body_left_ : std::min<std::size_t>(input.size(), body_left_ - 1);
  if (part == 0) return Outcome::kNeedMore;

  frame = {FrameType::kBody, body_channel_, input.first(part), body_size_, last};
  input = input.subspan(last ? part + 1 : part);
  body_left_ -= static_cast<std::uint32_t>(part);
  in_body_ = !last;
  return Outcome::kFrame;
}

FrameReader::Outcome FrameReader::fail(FrameFault fault, std::uint32_t value) {
  fault_ = fault;
  fault_value_ = value;
  return Outcome::kFault;
}

}  // namespace ringtail::amqp
