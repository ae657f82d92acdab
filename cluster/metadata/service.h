// How metadata changes: a proposal goes to the owner (an actor on shard 0), which applies it and
// sends it to every other shard; when all have applied it the proposer gets its result. So a change
// that has been answered is in force on every shard, and a client that hears declare-ok on one
// connection may use the queue on any other. Proposals that arrive together travel together.
//
// A node that keeps its metadata (open()) answers a proposal that changed what outlives a restart
// when the change is on stable storage too; one that concerns transient things only does not wait
// for the disk.
//
// With a cluster the owner's place is taken by Raft, and that of the journal by Raft's log;
// replicas and proposers stay as they are.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "broker/runtime/letter.h"
#include "broker/runtime/shard.h"
#include "broker/runtime/status.h"
#include "cluster/metadata/commands.h"
#include "cluster/metadata/store.h"

namespace ringtail::cluster::metadata {

enum MetadataLetterKind : runtime::LetterKind {
  kPropose = runtime::kMetadataLetters,  // any actor -> owner
  kProposed,                             // owner -> that actor
  kApply,                                // owner -> replica
  kApplied,                              // replica -> owner
  kRestore,                              // owner -> replica: what was saved
  kRestored,                             // replica -> owner
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
  // For the owner, once, before anything is proposed: reads what the data directory holds and
  // brings it to every shard; from then on changes are kept there. `done` runs when all have it:
  // `empty` says that the directory knew nothing. `lost` runs once, later, when the disk fails:
  // what was not answered may or may not be kept, nothing durable is answered any more, and the
  // node has to end.
  struct Opened {
    runtime::Status status;
    bool empty = false;
  };
  void open(const std::string& data_dir, std::function<void(const Opened&)> done,
            std::function<void(const runtime::Status&)> lost);
  // For the owner, the last thing: `done` runs when the disk holds all and lets go.
  void close(std::function<void()> done);

  // Where any shard sends its proposals.
  static runtime::Address owner(runtime::NodeId node);

  void receive(runtime::LetterPtr letter) noexcept override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ringtail::cluster::metadata
