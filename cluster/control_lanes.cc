#include "cluster/control_lanes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "broker/runtime/checksum.h"
#include "cluster/link_limits.h"

namespace ringtail::cluster {

using runtime::Bytes;
using runtime::Code;
using runtime::OutChain;
using runtime::Status;

bool ControlLanes::append(const EnvelopePrefix& prefix, std::string_view header, OutChain& body) {
  const std::size_t size = kEnvelopePrefixSize + header.size() + body.size();
  const bool bulk = size > kBulkMin;
  const bool full =
      bulk ? bulk_.size() >= kBulkWaitingMax : urgent_.size() + size > kUrgentWaitingMax;
  if (full) {
    body.clear();
    return false;
  }
  return append_envelope(bulk ? bulk_ : urgent_, prefix, header, body);
}

// 0: nothing, or no room. A frame is not made smaller to fit, so that they stay few.
std::size_t ControlLanes::next_bulk_size() const {
  const std::size_t size = std::min(bulk_.size(), kBulkFrameMax);
  return bulk_under_way_ + size <= kBulkUnderWayMax ? size : 0;
}

bool ControlLanes::has_output() const { return ping_ || !urgent_.empty() || next_bulk_size() > 0; }

void ControlLanes::take(OutChain& out) {
  while (!urgent_.empty()) {  // CL6: before any large one
    append_frame(out, urgent_, kLane, std::min(urgent_.size(), kFramePayloadMax));
    ping_ = false;
  }
  while (const std::size_t size = next_bulk_size()) {
    append_frame(out, bulk_, kBulkLane, size);
    bulk_frames_.push_back({sent_, size});
    bulk_under_way_ += size;
    ping_ = false;
  }
  if (ping_) append_frame(out, urgent_, kLane, 0);
  ping_ = false;
  if (urgent_.empty()) urgent_.clear();
  if (bulk_.empty()) bulk_.clear();
}

void ControlLanes::append_frame(OutChain& out, OutChain& lane_stream, Lane lane, std::size_t size) {
  std::uint8_t* const header = out.reserve(kFrameHeaderSize);
  out.advance(kFrameHeaderSize);
  std::uint32_t sum = put_frame_header(header, {lane, static_cast<std::uint32_t>(size), ++sent_});
  for (std::size_t left = size; left > 0;) {
    Bytes piece = lane_stream.take_front(left);
    left -= piece.size();
    sum = runtime::checksum(sum, piece.span());
    out.append(std::move(piece));
  }
  finish_frame_header(header, sum);
}

Status ControlLanes::acknowledge(std::uint64_t number) {
  if (number < acknowledged_ || number > sent_) {
    return {Code::kCorrupt, "acknowledges frame " + std::to_string(number) + ", where " +
                                std::to_string(acknowledged_) + " to " + std::to_string(sent_) +
                                " may be"};
  }
  acknowledged_ = number;
  while (!bulk_frames_.empty() && bulk_frames_.front().number <= number) {
    bulk_under_way_ -= bulk_frames_.front().size;
    bulk_frames_.pop_front();
  }
  return {};
}

}  // namespace ringtail::cluster
