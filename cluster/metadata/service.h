// How metadata changes. A proposal goes to the node's owner of the metadata (owner.h, on the
// control shard), which gets it agreed on by the cluster, applies it, and sends it to every other
// shard of the node; when all shards of all nodes that count have applied it the proposer gets its
// result. So a change that has been answered is in force everywhere, and a client that hears
// declare-ok on one connection may use the queue on any other, of any node. What a replica knows
// may be ahead of that: whoever tells a client that a queue is there asks in_force() first.
//
// This is the part of a shard that has clients or queues: its replica of the metadata.
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
  kRestore,                              // owner -> replica: the whole state
  kAwaitInForce,                         // any actor -> owner; answered by Proposed
  kInForce,                              // owner -> replica
};

// Answered by Proposed with the same request number; with kUnavailable when the cluster has not
// agreed in time. A patient one has no such limit: what has to happen in the end.
struct Propose : runtime::Letter {
  Propose();
  ~Propose() override;
  std::uint64_t request = 0;
  bool patient = false;
  Command command;
};

struct Proposed : runtime::Letter {
  Proposed() : Letter(kProposed) {}
  std::uint64_t request = 0;
  CommandResult result;
};

// Answered with kUnchanged when all that this node knows by now is in force everywhere; with
// kUnavailable when that is not so in time.
struct AwaitInForce : runtime::Letter {
  AwaitInForce() : Letter(kAwaitInForce) {}
  std::uint64_t request = 0;
};

// Queues below this qid are known to every node that counts, or gone. Told from time to time.
struct InForce : runtime::Letter {
  InForce() : Letter(kInForce) {}
  Qid below{};
};

// Commands in the order in which they were agreed on. `batch` counts Apply and Restore letters,
// from 1; each is answered by Applied once the replica has done with it.
struct Apply : runtime::Letter {
  Apply() : Letter(kApply) {}
  std::uint64_t batch = 0;
  std::shared_ptr<const std::vector<Command>> commands;
};

struct Restore : runtime::Letter {
  Restore() : Letter(kRestore) {}
  std::uint64_t batch = 0;
  std::shared_ptr<const SavedState> saved;
};

struct Applied : runtime::Letter {
  Applied() : Letter(kApplied) {}
  std::uint64_t batch = 0;
};

// Of the services of all shards, the control shard's (owner.h) too: above every qid and below every
// invented id.
inline constexpr runtime::ActorId kServiceActor{1ULL << 62};

// Lives as long as its shard, on its thread.
class Service : public runtime::Actor {
 public:
  // `control`: the node's control shard.
  Service(runtime::Shard& shard, runtime::ShardId control);
  ~Service() override;

  Store& store() { return store_; }
  // False: some node that holds a lease may not know this queue yet (AwaitInForce).
  bool in_force(Qid qid) const { return qid < in_force_below_; }
  // Where proposals are sent.
  runtime::Address owner() const { return {shard_.node(), control_, kServiceActor}; }

  void receive(runtime::LetterPtr letter) noexcept override;

 private:
  void done_with(std::uint64_t batch, const runtime::Address& from);

  runtime::Shard& shard_;
  const runtime::ShardId control_;
  Store store_;
  std::uint64_t last_batch_ = 0;
  Qid in_force_below_{};
};

}  // namespace ringtail::cluster::metadata
