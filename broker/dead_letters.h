// Where the queues of a shard give the messages that they drop by rule. A dead letter is a new
// message around the old body: its headers tell of the death (death.h), it has no expiration any
// more, everything else stays as the publisher made it. It is routed from the queue's dead letter
// exchange, under the queue's dead letter routing key or the keys it had (BCC included), and
// published to what it reaches, whatever shard that lives on.
//
// At most once: the queue has let go of the message, and nobody waits for the targets. A message
// that died for an automatic reason is not given to a queue where it has died before unless a
// client rejected it since: it would go round for ever.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "broker/amqp/field_table.h"
#include "broker/queue_publisher.h"
#include "broker/recent_history.h"
#include "broker/routing/route_table.h"
#include "broker/runtime/shard.h"
#include "cluster/metadata/view.h"
#include "queue/dead_letters.h"

namespace ringtail::broker {

// One per shard; lives as long as the shard's replica.
class DeadLetters final : public queue::DeadLetterSink, public cluster::metadata::Observer {
 public:
  DeadLetters(runtime::Shard& shard, cluster::metadata::View& view, const RouteTable& routes,
              RecentHistory& history);

  void dead_letter(const std::shared_ptr<const cluster::metadata::QueueRecord>& queue,
                   const cluster::metadata::QueueOptions& options, queue::DeathReason reason,
                   queue::MessageRef message) override;

  void peer_changed(runtime::NodeId peer, bool up) { publisher_.peer_changed(peer, up); }

  // Dead letters that their queues have not settled yet.
  std::uint64_t unsettled() const { return publisher_.unsettled(); }
  std::size_t queues_known() const { return publisher_.queues_known(); }

  void queue_removed(const cluster::metadata::QueueRecord& record) override;
  void queue_changed(const std::shared_ptr<const cluster::metadata::QueueRecord>& record) override {
    publisher_.queue_changed(*record);
  }

 private:
  using Targets = std::vector<const cluster::metadata::QueueRecord*>;

  // What of a dead letter is ready before it is routed.
  struct Letter {
    std::string properties;
    std::vector<std::string> further_keys;  // of CC and BCC
    std::string_view routing_key;
    std::span<const std::uint8_t> blind_keys;
  };

  // Fills targets_ with those that the letter may go to.
  void route(const Exchange& exchange, const Letter& letter);
  void drop_circles(const cluster::metadata::QueueRecord& queue, const amqp::FieldTable& headers);
  void send(const Exchange& exchange, const Letter& letter, const queue::Message& dead);

  runtime::Shard& shard_;
  const RouteTable& routes_;
  RecentHistory& history_;
  QueuePublisher publisher_;
  // Queues of which the log has said it once.
  std::unordered_set<runtime::Qid> told_no_exchange_;
  std::unordered_set<runtime::Qid> told_circle_;

  // Of the call that is running; kept for their memory.
  Targets targets_;
  std::vector<const Exchange*> remembering_;
};

}  // namespace ringtail::broker
