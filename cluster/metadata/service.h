// How metadata changes: a proposal goes to the owner (an actor on shard 0), which applies it and
// sends it to every other shard; when all have applied it the proposer gets its result. So a change
// that has been answered is in force on every shard, and a client that hears declare-ok on one
// connection may use the queue on any other. Proposals that arrive together travel together.
//
// With a cluster the owner's place is taken by Raft; replicas and proposers stay as they are.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "broker/runtime/letter.h"
#include "broker/runtime/shard.h"
#include "cluster/metadata/commands.h"
#include "cluster/metadata/store.h"

namespace ringtail::cluster::metadata {

enum MetadataLetterKind : runtime::LetterKind {
  kPropose = runtime::kMetadataLetters,  // any actor -> owner
  kProposed,                             // owner -> that actor
  kApply,                                // owner -> replica
  kApplied,                              // replica -> owner
};

// Answered by Proposed with the same request number.
struct Propose : runtime::Letter {
  Propose() : Letter(kPropose) {}
  std::uint64_t request = 0;
  Command command;
};

struct Proposed : runtime::Letter {
  Proposed() : Letter(kProposed) {}
  std::uint64_t request = 0;
  CommandResult result;
};

// The replica of one shard; on shard 0 also the owner. Lives as long as its shard.
class Service : public runtime::Actor {
 public:
  Service(runtime::Shard& shard, std::uint16_t shards);
  ~Service() override;

  // This shard's replica.
  Store& store();
  // Where any shard sends its proposals.
  static runtime::Address owner(runtime::NodeId node);

  void receive(runtime::LetterPtr letter) noexcept override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ringtail::cluster::metadata
