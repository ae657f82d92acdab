// Queues of one shard that have asked to be removed, and the answers that wait until they are: a
// client that hears delete-ok finds the queue gone on every shard. Where nobody agrees on the
// removal within kProposalTimeoutMs, because a majority is not there, who has asked for it hears
// that; it happens all the same, later.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "broker/runtime/ids.h"
#include "broker/runtime/letter.h"
#include "broker/runtime/shard.h"
#include "cluster/metadata/records.h"

namespace ringtail::queue {

// Asks for the removal of a queue from the metadata. Never acts inside the call. `done` runs later
// on the same shard, when all shards have forgotten the queue; the queue process is gone by then.
using RemoveQueue = std::function<void(std::shared_ptr<const cluster::metadata::QueueRecord>,
                                       std::function<void()> done)>;

// One per shard, on its thread, as long as the shard: it outlives the queues.
class Removals {
 public:
  Removals(runtime::Shard& shard, RemoveQueue remove_queue);
  Removals(const Removals&) = delete;
  Removals& operator=(const Removals&) = delete;

  // Once for a queue.
  void start(const std::shared_ptr<const cluster::metadata::QueueRecord>& record);
  // Only after start(), while the queue process exists: an answer to be posted, from the queue,
  // when the removal is in force.
  void owe(runtime::Qid qid, const runtime::Address& to, runtime::LetterPtr answer);
  // The same for a notice to a consumer, which goes before the answers. False: no removal was
  // started, the caller keeps the notice.
  bool owe_notice(runtime::Qid qid, const runtime::Address& to, runtime::LetterPtr& notice);
  // What is owed to that node is not owed any more.
  void peer_down(runtime::NodeId node);

 private:
  struct Owed {
    runtime::Address to;
    runtime::LetterPtr answer;
    std::uint64_t deadline_ms = 0;
  };

  void look_for_late();
  void done(runtime::Qid qid);

  runtime::Shard& shard_;
  const RemoveQueue remove_queue_;
  struct Removal {
    std::vector<Owed> notices;
    std::vector<Owed> answers;
  };
  std::map<runtime::Qid, Removal> owed_;
  std::unique_ptr<runtime::Timer> late_;  // runs while something is owed
  bool late_runs_ = false;
};

}  // namespace ringtail::queue
