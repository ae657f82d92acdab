#include "cluster/peer_session.h"

#include <algorithm>
#include <string>
#include <utility>

#include "broker/runtime/buggify.h"
#include "broker/runtime/check.h"
#include "broker/runtime/checksum.h"

namespace ringtail::cluster {

using runtime::Bytes;
using runtime::Code;
using runtime::OutChain;
using runtime::Status;

void SendSession::cut() {
  while (!stream_.empty()) cut_frame();
}

void SendSession::cut_frame() {
  std::size_t size = std::min(stream_.size(), payload_max_);
  if (RT_BUGGIFY(0.2)) size = std::min<std::size_t>(size, 1 + size / 3);
  std::uint8_t* const header = headers_.reserve(kFrameHeaderSize);
  headers_.advance(kFrameHeaderSize);
  pieces_.push_back(headers_.take_front(kFrameHeaderSize));
  const std::uint64_t number = acknowledged_ + frames_.size() + 1;
  std::uint32_t sum = put_frame_header(header, {kLane, static_cast<std::uint32_t>(size), number});
  Frame frame{kFrameHeaderSize + size, 1};
  for (std::size_t left = size; left > 0;) {
    Bytes piece = stream_.take_front(left);
    left -= piece.size();
    sum = runtime::checksum(sum, piece.span());
    pieces_.push_back(std::move(piece));
    ++frame.pieces;
  }
  finish_frame_header(header, sum);
  kept_ += frame.size;
  frames_.push_back(frame);
}

void SendSession::take(OutChain& out, std::size_t max) {
  while (has_unsent() && out.size() < max) {
    const Frame& frame = frames_[next_frame_];
    for (std::size_t i = 0; i < frame.pieces; ++i) out.append(pieces_[next_piece_ + i]);
    next_piece_ += frame.pieces;
    ++next_frame_;
  }
}

void SendSession::forget_first() {
  const Frame frame = frames_.front();
  frames_.pop_front();
  for (std::size_t i = 0; i < frame.pieces; ++i) pieces_.pop_front();
  kept_ -= frame.size;
  ++acknowledged_;
  if (next_frame_ > 0) {
    --next_frame_;
    next_piece_ -= frame.pieces;
  }
}

Status SendSession::acknowledge(std::uint64_t number) {
  if (number < acknowledged_ || number - acknowledged_ > next_frame_) {
    return {Code::kCorrupt, "acknowledges frame " + std::to_string(number) + ", where " +
                                std::to_string(acknowledged_) + " to " +
                                std::to_string(acknowledged_ + next_frame_) + " may be"};
  }
  while (acknowledged_ < number) forget_first();
  if (kept() == 0) {  // an idle session holds no memory
    stream_.clear();
    headers_.clear();
  }
  return {};
}

void SendSession::clear() {
  stream_.clear();
  headers_.clear();
  pieces_.clear();
  frames_.clear();
  next_frame_ = 0;
  next_piece_ = 0;
  kept_ = 0;
}

Status SendSession::resume(std::uint64_t last_received) {
  if (last_received < acknowledged_ || last_received - acknowledged_ > frames_.size()) {
    return {Code::kCorrupt, "has received up to frame " + std::to_string(last_received) +
                                " of the session, where " + std::to_string(acknowledged_) + " to " +
                                std::to_string(acknowledged_ + frames_.size()) + " may be"};
  }
  // All that is kept counts as sent for a moment, so that what arrived can be forgotten.
  next_frame_ = frames_.size();
  next_piece_ = pieces_.size();
  const Status status = acknowledge(last_received);
  next_frame_ = 0;
  next_piece_ = 0;
  return status;
}

Status ReceiveSession::receive(const FrameReader::Frame& frame, EnvelopeSink& sink) {
  RT_TRY(broken_);
  if (frame.lane != kLane) return {Code::kCorrupt, "a frame of the wrong lane"};
  if (frame.number <= last_received_) return {};  // CL3: came before the reconnection
  if (frame.number != last_received_ + 1) {
    return {Code::kCorrupt, "frame " + std::to_string(frame.number) + " behind frame " +
                                std::to_string(last_received_)};
  }
  ++last_received_;
  Status status = reader_.read(frame.payload, sink);
  // Half of a frame cannot be taken back, so it cannot be read a second time.
  if (!status.ok()) broken_ = status;
  return status;
}

}  // namespace ringtail::cluster
