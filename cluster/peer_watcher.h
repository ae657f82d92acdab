// Who wants to know of other nodes.
#pragma once

#include "broker/runtime/ids.h"
#include "cluster/link_identity.h"

namespace ringtail::cluster {

// Told on its own shard, between letters. Must not destroy the bus; may post.
class PeerWatcher {
 public:
  virtual ~PeerWatcher() = default;
  // Letters to this node are taken from now on, and its letters come only after this.
  virtual void peer_up(runtime::NodeId /*node*/, NodeLife /*life*/) noexcept {}
  // No letter of that life comes to this shard any more, and letters to it are dropped. All that
  // ever comes of it has come; nothing of its next life has (CL4).
  virtual void peer_down(runtime::NodeId /*node*/, NodeLife /*life*/) noexcept {}
  // More waits for it than is good (kKeptHighMark): send no more than must be. Ends by itself, or
  // with peer_down().
  virtual void peer_congested(runtime::NodeId /*node*/, bool /*congested*/) noexcept {}
  // There has been no connection to it for kUnreachedMs, and nobody has said that it is down: there
  // is no majority for that, or others still reach it. Letters are taken and kept as before, but
  // whoever waits for one of it should not. `reached` true: there is a connection again. It ends
  // with peer_down(), too.
  virtual void peer_reached(runtime::NodeId /*node*/, bool /*reached*/) noexcept {}
};

}  // namespace ringtail::cluster
