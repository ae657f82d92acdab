// Questions to queues on behalf of nobody's channel: purge, delete and try over HTTP.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "broker/runtime/letter.h"
#include "broker/runtime/shard.h"
#include "cluster/metadata/records.h"
#include "queue/letters.h"
#include "queue/queue_process.h"

namespace ringtail::broker {

struct QueueQuestion {
  // kTry: publishes a message to the queue and gets one from it.
  // kInspect: how much it holds.
  enum class What : std::uint8_t { kPurge, kDelete, kTry, kInspect } what = What::kPurge;
  bool if_unused = false;  // of kDelete
  bool if_empty = false;
};

struct QueueAnswer {
  queue::Answer answer = queue::Answer::kNotFound;
  std::uint64_t messages = 0;    // purged, deleted with the queue, or got from it
  queue::QueueStats stats = {};  // of kInspect
  // kNotFound because the node of the queue is not reached: nothing is known of the queue.
  bool node_down = false;
};

// Owned by the BrokerShard, on its shard; an actor, which queues of any shard answer.
class QueueCalls final : public runtime::Actor {
 public:
  using Done = std::function<void(const QueueAnswer&)>;

  explicit QueueCalls(runtime::Shard& shard);
  ~QueueCalls() override;

  // `done` runs on this shard when the answer has come; a queue that is gone has one, too, and one
  // whose node goes or is not reached (then within this call).
  void ask(const cluster::metadata::QueueRecord& queue, const QueueQuestion& question, Done done);

  // A mirrored queue may have another master, which is asked again, or none.
  void queue_changed(const cluster::metadata::QueueRecord& queue);
  void queue_removed(runtime::Qid qid);

  void peer_changed(runtime::NodeId node, bool up);
  // What waits for it is answered as if it was down; it goes on where it was when it is reached
  // again.
  void peer_reached(runtime::NodeId node, bool reached);

  void receive(runtime::LetterPtr letter) noexcept override;

 private:
  struct Waiting {
    runtime::NodeId node;  // of the queue
    Done done;
    QueueQuestion question;
    // Of a mirrored queue, to ask its next master; null: it is not mirrored.
    std::unique_ptr<cluster::metadata::QueueRecord> queue;
    std::uint64_t number = 0;  // of the message of kTry
  };
  struct Published {
    runtime::NodeId node;
    std::uint64_t last = 0;
    bool mirrored = false;
  };

  void send(const cluster::metadata::QueueRecord& queue, queue::RequestId request,
            Waiting& waiting);
  template <typename Request>
  void post(const cluster::metadata::QueueRecord& queue, std::unique_ptr<Request> letter);
  void try_queue(const cluster::metadata::QueueRecord& queue, queue::RequestId request,
                 Waiting& waiting);
  std::vector<queue::RequestId> of_mirrored(runtime::Qid qid) const;
  void refuse_waiting(runtime::NodeId node, bool of_mirrored_too);
  void answered(queue::RequestId request, const QueueAnswer& answer);

  runtime::Shard& shard_;
  const runtime::Address address_;
  queue::RequestId next_request_ = 1;
  std::map<queue::RequestId, Waiting> waiting_;
  std::set<std::pair<runtime::Qid, queue::RequestId>> of_mirrored_;
  // What a queue has been sent by kTry, for its next number; as long as the queue answers.
  std::map<runtime::Qid, Published> published_;
  std::set<runtime::NodeId> down_;
};

}  // namespace ringtail::broker
