// The state machine that Raft keeps equal on all nodes. On the control shard.
#pragma once

#include <functional>
#include <string_view>

#include "broker/runtime/bytes.h"
#include "cluster/raft/types.h"

namespace ringtail::cluster::raft {

class RaftMachine {
 public:
  virtual ~RaftMachine() = default;
  // A committed proposal, in order, each once since the last restore(). Must depend on nothing but
  // the state and what is given. Must not call the RaftNode, but for propose().
  virtual void apply(Index index, Term term, std::string_view payload) = 0;
  // The state as it is now, whatever is applied until `done` runs: once, at once or in a later turn
  // (a large state is written down in steps), but not after the RaftNode is gone. One at a time.
  virtual void snapshot(std::function<void(runtime::BytesChain)> done) = 0;
  // Replaces the state by that of a snapshot. A failure ends the node.
  virtual runtime::Status restore(std::string_view bytes) = 0;
};

}  // namespace ringtail::cluster::raft
