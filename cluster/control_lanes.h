// The sending half of a control link: small messages and large ones in a lane each, so that a
// snapshot of any size holds no heartbeat up for longer than kBulkUnderWayMax takes (CL6). Nothing
// is kept: what a lost connection had under way is lost. Pure; on the control shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>

#include "broker/runtime/bytes.h"
#include "broker/runtime/status.h"
#include "cluster/envelope_stream.h"
#include "cluster/link_frame.h"

namespace ringtail::cluster {

class ControlLanes {
 public:
  // Takes all of `body`. False: too much waits, or it is too large; dropped.
  bool append(const EnvelopePrefix& prefix, std::string_view header, runtime::OutChain& body);
  // An empty frame with the next take(), so that the peer has something to acknowledge.
  void ping() { ping_ = true; }
  // True: take() would give something now.
  bool has_output() const;
  // Appends what may be sent now: the small ones all, the large ones as far as they have room.
  void take(runtime::OutChain& out);
  runtime::Status acknowledge(std::uint64_t number);
  // Frames are under way.
  bool awaits_acknowledgement() const { return sent_ > acknowledged_; }
  std::uint64_t acknowledged() const { return acknowledged_; }
  std::size_t waiting() const { return urgent_.size() + bulk_.size(); }

 private:
  struct Bulk {
    std::uint64_t number;
    std::size_t size;
  };

  std::size_t next_bulk_size() const;
  void append_frame(runtime::OutChain& out, runtime::OutChain& lane_stream, Lane lane,
                    std::size_t size);

  runtime::OutChain urgent_;
  runtime::OutChain bulk_;
  std::uint64_t sent_ = 0;  // the last frame
  std::uint64_t acknowledged_ = 0;
  std::deque<Bulk> bulk_frames_;  // under way
  std::size_t bulk_under_way_ = 0;
  bool ping_ = false;
};

}  // namespace ringtail::cluster
