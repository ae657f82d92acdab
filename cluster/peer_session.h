// A session: what one shard of a node tells another node while both are in one life. It outlives
// the connections that carry it. The sender cuts its stream of envelopes into numbered frames and
// keeps them until the receiver has acknowledged them; after a reconnection the receiver says which
// came last, and the sender goes on behind it (CL3). So nothing is lost, doubled or reordered until
// one of the two lives ends. Pure; each side lives on one shard.
//
// States of a frame at the sender: appended (part of stream()), cut, sent on this connection,
// acknowledged (forgotten).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "broker/runtime/bytes.h"
#include "broker/runtime/status.h"
#include "cluster/envelope_stream.h"
#include "cluster/link_frame.h"
#include "cluster/link_limits.h"

namespace ringtail::cluster {

class SendSession {
 public:
  explicit SendSession(std::size_t frame_payload_max = kFramePayloadMax)
      : payload_max_(frame_payload_max) {}

  // Where envelopes are appended (append_envelope).
  runtime::OutChain& stream() { return stream_; }
  // Makes frames of what was appended. Once per turn: what was gathered goes together.
  void cut();

  // Bytes that are kept: not acknowledged, sent or not.
  std::size_t kept() const { return kept_ + stream_.size(); }
  bool has_unsent() const { return next_frame_ < frames_.size(); }
  // Frames are on their way, and no acknowledgement has come for them.
  bool awaits_acknowledgement() const { return next_frame_ > 0; }
  // The last frame that was acknowledged.
  std::uint64_t acknowledged() const { return acknowledged_; }

  // Appends frames that were not sent on this connection, until `out` has `max` bytes or more.
  void take(runtime::OutChain& out, std::size_t max);
  // All frames up to this number have arrived. kCorrupt: that cannot be.
  runtime::Status acknowledge(std::uint64_t number);
  // Forgets everything: its lives are over.
  void clear();
  // A new connection: frames behind `last_received` are to be sent again. kCorrupt: the other side
  // speaks of another session.
  runtime::Status resume(std::uint64_t last_received);

 private:
  struct Frame {
    std::size_t size;    // its bytes, header included
    std::size_t pieces;  // how many of pieces_ it is
  };

  void cut_frame();
  void forget_first();

  const std::size_t payload_max_;
  runtime::OutChain stream_;
  runtime::OutChain headers_;  // memory of frame headers
  std::deque<runtime::Bytes> pieces_;
  std::deque<Frame> frames_;        // kept, in order; the first is acknowledged_ + 1
  std::uint64_t acknowledged_ = 0;  // the last frame that was
  std::size_t next_frame_ = 0;      // the first of frames_ not sent on this connection
  std::size_t next_piece_ = 0;      // and where it begins in pieces_
  std::size_t kept_ = 0;
};

class ReceiveSession {
 public:
  // Hands the envelopes that a frame completes to `sink`. A frame that came before is passed over.
  // kCorrupt: the connection cannot go on, nor, if the envelopes are at fault, the session.
  runtime::Status receive(const FrameReader::Frame& frame, EnvelopeSink& sink);
  std::uint64_t last_received() const { return last_received_; }

 private:
  EnvelopeReader reader_;
  std::uint64_t last_received_ = 0;
  runtime::Status broken_;
};

}  // namespace ringtail::cluster
