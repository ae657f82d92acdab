// The queues of one shard: makes a queue process when the shard's replica learns of a queue that
// lives here, or of a copy of a mirrored one, ends it when the queue is removed, and answers
// letters to queues that are gone.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "broker/runtime/letter.h"
#include "broker/runtime/shard.h"
#include "cluster/metadata/view.h"
#include "queue/discard.h"
#include "queue/mirror/mirrored_queue.h"
#include "queue/queue_process.h"
#include "queue/removals.h"

namespace ringtail::queue {

// Lives as long as its shard and the shard's replica, on its thread. Makes itself an observer of
// the replica (and makes what is in it already) and the shard's fallback for letters without a
// receiver.
class QueueRegistry : public runtime::Actor,
                      public cluster::metadata::Observer,
                      private runtime::TurnTask {
 public:
  // `proposer` asks the metadata owner to remove a queue (a deleted or auto-delete one). It is a
  // function because the queue layer may only read the metadata (STYLE 3.1).
  // `propose_view`, for the same reason: another view of a mirrored queue. `stores`: as
  // QueueProcess has it.
  QueueRegistry(runtime::Shard& shard, cluster::metadata::View& view, RemoveQueue proposer,
                DeadLetterSink& dead_letters, store::StoreShard* stores = nullptr,
                ProposeView propose_view = {});
  ~QueueRegistry() override;

  // Null: there is none, or only a slave of it.
  QueueProcess* find(Qid qid);
  // With the copies of mirrored ones.
  std::size_t size() const { return queues_.size() + mirrored_.size(); }
  // For listings, which must not hold the shard for long: visits up to `limit` queues behind
  // `after` in the order of their qids; the last one visited, or Qid{0} when there is no more.
  Qid visit_some(Qid after, std::size_t limit, const std::function<void(QueueProcess&)>& visit);

  // A start: every queue of the node has what it had.
  void serve();

  // That node's channels have ended: what came from them is here already, nothing reaches them.
  void peer_down(runtime::NodeId peer);

  void receive(runtime::LetterPtr letter) noexcept override;
  void queue_added(const std::shared_ptr<const cluster::metadata::QueueRecord>& record) override;
  void queue_changed(const std::shared_ptr<const cluster::metadata::QueueRecord>& record) override;
  void queue_removed(const cluster::metadata::QueueRecord& record) override;
  void state_restored() override;

 private:
  using RecordPtr = std::shared_ptr<const cluster::metadata::QueueRecord>;

  runtime::Address address_of(Qid qid) const;
  // This shard's copy of a mirrored queue, in the node's present life.
  std::optional<gm::MemberId> own_member(const cluster::metadata::QueueRecord& record) const;
  void mirror(const RecordPtr& record);
  void mirror_dormant(const RecordPtr& record);
  // Letters to this queue go to it, or to whoever answers in its place.
  void release(Qid qid);
  // Makes directories of new queues, some in each turn.
  void turn_end() noexcept override;

  runtime::Shard& shard_;
  const cluster::metadata::View& view_;
  // To queues that this shard has not heard of yet: who sends them has, being further in the
  // metadata's log.
  std::map<Qid, std::vector<runtime::LetterPtr>> early_;
  Removals removals_;
  Discard discard_;
  DeadLetterSink& dead_letters_;
  store::StoreShard* const stores_;
  std::list<Qid> without_directory_;
  std::map<Qid, std::unique_ptr<QueueProcess>> queues_;
  MirrorServices mirror_services_;
  std::map<Qid, std::unique_ptr<MirroredQueue>> mirrored_;
  std::set<Qid> elsewhere_;  // mirrored queues without a copy on this shard
};

}  // namespace ringtail::queue
