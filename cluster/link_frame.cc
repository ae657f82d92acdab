#include "cluster/link_frame.h"

#include <algorithm>
#include <cstring>

#include "broker/runtime/checksum.h"
#include "cluster/link_limits.h"
#include "cluster/wire_numbers.h"

namespace ringtail::cluster {

namespace {

using runtime::checksum;
using runtime::Code;
using runtime::Status;

// What the checksum covers of a header: all before it.
constexpr std::size_t kCovered = kFrameHeaderSize - sizeof(std::uint32_t);
constexpr std::uint32_t kSizeMask = 0x00FF'FFFF;
static_assert(kFramePayloadMax <= kSizeMask);

std::uint32_t payload_size(const std::uint8_t* header) {
  return get_number<std::uint32_t>(header) & kSizeMask;
}

}  // namespace

std::uint32_t put_frame_header(std::uint8_t* to, const FrameHeader& header) {
  put_number(to, std::uint32_t{header.lane} << 24 | header.size);
  put_number(to + 4, header.number);
  return checksum(0, {to, kCovered});
}

void finish_frame_header(std::uint8_t* header, std::uint32_t sum) {
  put_number(header + kCovered, sum);
}

void put_acknowledgement(std::uint8_t* to, std::uint64_t number) {
  put_number(to, number);
  put_number(to + 8, checksum(0, {to, 8}));
}

FrameReader::Step FrameReader::fail(const char* text) {
  failure_ = Status(Code::kCorrupt, text);
  return Step::kFailed;
}

// Moves bytes to held_ until it has `size`; true: it has.
bool FrameReader::hold(std::span<const std::uint8_t>& data, std::size_t size) {
  if (held_.size() < size) {
    const std::size_t part = std::min(size - held_.size(), data.size());
    held_.insert(held_.end(), data.begin(), data.begin() + static_cast<std::ptrdiff_t>(part));
    data = data.subspan(part);
  }
  return held_.size() >= size;
}

FrameReader::Step FrameReader::next(std::span<const std::uint8_t>& data, Frame& frame) {
  if (!failure_.ok()) return Step::kFailed;
  if (given_) {
    held_.clear();
    given_ = false;
  }
  if (held_.empty() && data.size() >= kFrameHeaderSize) {
    const std::size_t size = payload_size(data.data());
    if (size > kFramePayloadMax) return fail("a frame that is too large");
    if (data.size() >= kFrameHeaderSize + size) {
      const std::span<const std::uint8_t> whole = data.first(kFrameHeaderSize + size);
      data = data.subspan(whole.size());
      return check(whole, frame);
    }
    held_.reserve(kFrameHeaderSize + size);
  }
  if (!hold(data, kFrameHeaderSize)) return Step::kMore;
  const std::size_t size = payload_size(held_.data());
  if (size > kFramePayloadMax) return fail("a frame that is too large");
  if (!hold(data, kFrameHeaderSize + size)) return Step::kMore;
  given_ = true;
  return check(held_, frame);
}

FrameReader::Step FrameReader::check(std::span<const std::uint8_t> whole, Frame& frame) {
  const std::uint8_t* const header = whole.data();
  const std::span<const std::uint8_t> payload = whole.subspan(kFrameHeaderSize);
  const std::uint32_t sum = checksum(checksum(0, whole.first(kCovered)), payload);
  if (sum != get_number<std::uint32_t>(header + kCovered)) {
    return fail("a frame whose checksum is wrong");
  }
  frame.lane = header[0];
  frame.number = get_number<std::uint64_t>(header + 4);
  frame.payload = payload;
  if (frame.lane >= kLanes) return fail("a frame of an unknown lane");
  return Step::kFrame;
}

Status AcknowledgementReader::read(std::span<const std::uint8_t> data, std::uint64_t& latest) {
  while (!data.empty()) {
    const std::size_t part = std::min(kAcknowledgementSize - size_, data.size());
    std::memcpy(held_ + size_, data.data(), part);
    size_ += part;
    data = data.subspan(part);
    if (size_ < kAcknowledgementSize) break;
    size_ = 0;
    if (checksum(0, {held_, 8}) != get_number<std::uint32_t>(held_ + 8)) {
      return {Code::kCorrupt, "an acknowledgement whose checksum is wrong"};
    }
    latest = get_number<std::uint64_t>(held_);
  }
  return {};
}

}  // namespace ringtail::cluster
