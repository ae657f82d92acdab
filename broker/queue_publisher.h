// Publishes to queues on behalf of no client: what is dead-lettered, what an exchange remembers. To
// a queue it looks like a channel: messages are numbered from 1 without a gap, those of one turn go
// as one letter, and Settled comes back. Nobody waits for that; it is counted, so that what is
// under way can be seen.
//
// What goes to a mirrored queue is kept until it is settled, and sent again to the queue's next
// master.
//
// One per user, on the user's shard. Nothing of it is left for a queue that forget() named.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "broker/runtime/letter.h"
#include "broker/runtime/shard.h"
#include "cluster/metadata/records.h"
#include "queue/letters.h"

namespace ringtail::broker {

class QueuePublisher final : public runtime::Actor, private runtime::TurnTask {
 public:
  explicit QueuePublisher(runtime::Shard& shard);
  ~QueuePublisher() override;
  QueuePublisher(const QueuePublisher&) = delete;
  QueuePublisher& operator=(const QueuePublisher&) = delete;

  // Leaves at the end of the turn. Messages to one queue arrive in the order of the calls.
  void publish(const cluster::metadata::QueueRecord& queue, queue::MessageRef message);
  // The queue's record is another one: it may have another master.
  void queue_changed(const cluster::metadata::QueueRecord& queue);
  // The queue is gone; what is gathered for it goes with it.
  void forget(runtime::Qid qid);
  // A node is not reached any more, or again. What its queues have not settled is lost, and so is
  // what is published to them until it is up; what is for mirrored queues waits for their next
  // master, unless they are vacant.
  void peer_changed(runtime::NodeId peer, bool up);

  // `done` runs when all that was published until now has been settled or lost: at once, or then.
  void when_settled(std::function<void()> done);

  // Messages that their queues have not settled yet.
  std::uint64_t unsettled() const { return unsettled_; }
  std::size_t queues_known() const { return lines_.size(); }

  void receive(runtime::LetterPtr letter) noexcept override;

 private:
  // To one queue.
  struct Line {
    runtime::Address address;
    std::uint64_t published = 0;                // the last number
    std::uint64_t settled = 0;                  // up to here
    std::unique_ptr<queue::Publish> publishes;  // this turn's
    // --- to a mirrored queue ---
    std::uint64_t epoch = 0;             // of the master at `address`; 0: the queue is not mirrored
    bool vacant = false;                 // there is no master: what is published is lost
    bool waits_for_node = false;         // nothing reaches the master yet
    bool waits_for_epoch = false;        // it is gone
    std::deque<queue::MessageRef> kept;  // the posted ones that are not settled, in their order ...
    std::uint64_t kept_from = 0;         // ... from this number on
    bool waiting() const { return waits_for_node || waits_for_epoch; }
  };

  // Of when_settled(): up to which number each queue has to have settled.
  struct Waiter {
    std::vector<std::pair<runtime::Qid, std::uint64_t>> missing;
    std::function<void()> done;
  };

  void turn_end() noexcept override;
  void look_at_waiters();
  void follow(Line& line, const cluster::metadata::QueueRecord& queue);
  void give_up(Line& line, std::uint64_t up_to);
  void keep(Line& line);
  void send_kept(runtime::Qid qid, const Line& line);

  runtime::Shard& shard_;
  const runtime::Address address_;
  std::vector<Waiter> waiters_;
  std::unordered_map<runtime::Qid, Line> lines_;
  std::set<runtime::NodeId> down_;
  std::vector<runtime::Qid> dirty_;  // have something gathered, in the order of its coming
  std::uint64_t unsettled_ = 0;
};

}  // namespace ringtail::broker
