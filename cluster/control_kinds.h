// The messages of a ControlBus, by number; they never change their meaning (docs/FORMATS.md).
#pragma once

#include "cluster/control_bus.h"

namespace ringtail::cluster {

enum ControlMessage : ControlKind {
  kRaftMessage = 1,  // header and body are Raft's
  kProposal,         // the header is the proposal
  kHeartbeat,        // control.proto, by these names
  kLeaseAnswer,
  kRound,
  kRoundAcknowledged,
  kAppliedHere,
  kAppliedEverywhere,
};

}  // namespace ringtail::cluster
