// What carries Raft's messages to other nodes. The control link implements it; the simulation's
// tests have one of their own.
#pragma once

#include <string>

#include "broker/runtime/bytes.h"
#include "broker/runtime/ids.h"

namespace ringtail::cluster::raft {

// On the shard of Raft. A message may be lost, repeated or overtaken by another; it never comes
// changed, and its sender is who the link says. What arrives is given to RaftNode::received() in a
// turn of its own, never inside send().
class Transport {
 public:
  virtual ~Transport() = default;
  // A node that is not connected gets nothing. `header` is small (some bytes for each entry),
  // `body` about as large as RaftIoOptions allows, or one entry.
  virtual void send(runtime::NodeId to, std::string header, runtime::Bytes body) = 0;
};

}  // namespace ringtail::cluster::raft
