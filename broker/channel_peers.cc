// What a channel does when the node of queues that it uses goes, and until it comes back.
//
// RabbitMQ's channel watches the processes of its queues: publishes to one that died are nacked,
// its consumers are cancelled, what asks for a queue whose node is down hears 404. Two things are
// different here: a client that cannot be told of the end of a consumer loses its channel, where
// RabbitMQ leaves it waiting in silence; and nothing that was asked waits for a time-out.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "broker/channel.h"
#include "broker/direct_reply.h"

namespace ringtail::broker {

using cluster::metadata::QueueRecord;
using runtime::NodeId;

namespace {

amqp::AmqpError home_down(const BrokerShard& broker_shard, const QueueRecord& queue) {
  // A queue that is not durable ends with its node; this node has only not heard of it yet.
  if (!queue.durable) return amqp::not_found_queue(queue.vhost, queue.name);
  return amqp::not_found_home_node_down(queue.vhost, queue.name,
                                        broker_shard.node_name(queue.home));
}

}  // namespace

// --- while the node is away ---------------------------------------------------------------------

void Channel::refuse_for_down(const QueueLink& link) {
  fail(home_down(broker_shard_, *link.record));
}

// Nobody has the message: it is never acknowledged.
void Channel::refuse_publish(std::uint64_t sequence) {
  if (sequence != 0) {
    confirms_.settle(sequence, true);
    shard_.flush_batches_at_turn_end(batch_task_);
  }
  if (mode_ == Mode::kTx) tx_refused_ = true;
}

// --- when it goes, or comes back ----------------------------------------------------------------

void Channel::peer_changed(NodeId node, bool up) {
  if (ended_) return;
  follow_masters();
  if (ended_) return;
  if (!up) {
    peer_down(node);
    return;
  }
  std::vector<QueueLink*> reached;
  for (QueueLink* link : links_to(node)) {
    if (!link->mirrored()) {
      link->down = false;
    } else if (link->down) {
      place(*link);
    } else if (link->waits == QueueLink::Wait::kNode) {
      place(*link);
      reached.push_back(link);
    }
  }
  if (!reached.empty()) attach(reached);
}

// Its queues may hear all that they were told, some day, and answer it. So each is told, behind
// that, that the channel has gone; until it has heard that, what it says is of a line that has
// ended.
void Channel::peer_reached(NodeId node, bool reached) {
  if (ended_) return;
  follow_masters();
  if (ended_) return;
  const std::vector<QueueLink*> lines = links_to(node);
  if (reached) {
    for (QueueLink* link : lines) {
      if (link->down) place(*link);
    }
    return;
  }
  for (const QueueLink* link : lines) leave(*link);
  end_lines(lines, [node](const AwaitedAnswers::Entry& asked) { return asked.node == node; });
}

void Channel::leave(const QueueLink& link) {
  if (link.down || link.waiting()) return;
  auto gone = std::make_unique<queue::ChannelGone>(link.record->qid);
  gone->epoch = link.epoch;
  gone->wants_notice = true;
  gone->notify = address_;
  shard_.post(address_, link.address, std::move(gone));
  left_[link.record->qid] = link.address.node;
}

// True: it is of no interest.
bool Channel::of_left_line(const runtime::Letter& letter) {
  if (letter.kind < queue::kSettled || letter.kind > queue::kChannelForgotten) return false;
  const auto left = left_.find(static_cast<const queue::QueueLetter&>(letter).qid);
  if (left == left_.end()) return false;
  if (letter.kind != queue::kChannelForgotten) return true;
  const auto link = links_.find(left->first);
  left_.erase(left);
  if (link != links_.end()) place(*link->second);
  return true;
}

void Channel::peer_congested(NodeId node, bool congested) {
  if (ended_) return;
  for (const auto& [qid, link] : links_) {
    if (link->address.node != node) continue;
    link->congested = congested;
    reopen(*link);
  }
}

// In the order of their qids, so that what comes of it happens in the same order in every run.
std::vector<QueueLink*> Channel::links_to(NodeId node) {
  std::vector<QueueLink*> found;
  for (const auto& [qid, link] : links_) {
    if (link->address.node == node) found.push_back(link.get());
  }
  std::sort(found.begin(), found.end(),
            [](const QueueLink* a, const QueueLink* b) { return a->record->qid < b->record->qid; });
  return found;
}

void Channel::peer_down(NodeId node) {
  std::erase_if(left_, [node](const auto& one) { return one.second == node; });
  std::vector<QueueLink*> lost;
  for (QueueLink* link : links_to(node)) {
    if (!awaits_master(*link)) lost.push_back(link);
  }
  answer_deletes(lost);
  if (ended_) return;
  end_lines(lost, [node](const AwaitedAnswers::Entry& asked) {
    return asked.node == node && !asked.waits;
  });
}

void Channel::end_lines(const std::vector<QueueLink*>& lost,
                        const std::function<bool(const AwaitedAnswers::Entry&)>& asked_of_them) {
  std::shared_ptr<const QueueRecord> fatal;
  const bool asked = !awaited_.empty() && asked_of_them(awaited_.front());
  if (asked && !awaited_.front().cancels) fatal = awaited_.front().queue;
  awaited_.refuse_behind(
      asked_of_them, [this](const QueueRecord& queue) { fail(home_down(broker_shard_, queue)); });
  const bool dies = fatal != nullptr;
  const auto silent = end_consumers(lost, !dies);
  for (QueueLink* link : lost) lose(*link);
  if (!lost.empty()) {
    // Reports what was refused, shares the prefetch anew.
    if (global_prefetch_ != 0) prefetch_changed_ = true;
    shard_.flush_batches_at_turn_end(batch_task_);
  }
  if (!dies && silent != nullptr) {
    method_class_ = 0;  // no method of the client's is to blame
    method_id_ = 0;
    fatal = silent;
  }
  if (fatal != nullptr) {
    fail(home_down(broker_shard_, *fatal));
  } else if (tx_committing_) {
    tx_commit_if_settled();
  } else if (asked) {
    answer_for_peer();
  }
}

// Consumers of these lines have ended. `tell`: the client hears it. Returns a queue whose
// consumer's client cannot.
std::shared_ptr<const QueueRecord> Channel::end_consumers(const std::vector<QueueLink*>& links,
                                                          bool tell) {
  std::vector<Consumer*> ended;
  for (const auto& [id, consumer] : consumers_) {
    if (std::find(links.begin(), links.end(), consumer->link) != links.end()) {
      ended.push_back(consumer);
    }
  }
  std::sort(ended.begin(), ended.end(),
            [](const Consumer* a, const Consumer* b) { return a->id < b->id; });
  std::shared_ptr<const QueueRecord> silent;
  for (Consumer* consumer : ended) {
    if (!connection_.client_can_hear_cancel()) {
      silent = consumer->link->record;
    } else if (tell) {
      reply(amqp::BasicCancel{.consumer_tag = consumer->tag, .nowait = true});
    }
    forget_consumer(*consumer);
  }
  return silent;
}

// Destroys the line, or keeps it for what its client has yet to acknowledge.
void Channel::lose(QueueLink& link) {
  targets_.clear();
  cached_version_ = 0;
  if (link.full) connection_.count_full_link(-1);
  link.full = false;
  if (tx_committing_ && link.messages.outstanding() > 0) tx_refused_ = true;
  for (const std::uint64_t sequence : link.confirm_sequences) confirms_.settle(sequence, true);
  link.confirm_sequences.clear();
  std::unique_ptr<QueueLink> own = std::move(links_.extract(link.record->qid).mapped());
  broker_shard_.line_ended(own->record->qid, address_.actor);
  if (own->mirrored()) {
    // Numbers go on, for whoever is its master next: what is refused here may have come there.
    if (own->publishes != nullptr) own->mark_batch();
    own->settle(own->next_number - 1);
    if (own->confirm_from != 0) own->confirm_from = own->next_number;
    QueueLink& next = new_link(own->record);
    next.first_consumer = next_consumer_;
    next.take_publishes(*own);
  }
  retire(std::move(own));
}

// Nothing travels on it any more; it is kept as long as its client has something to acknowledge.
void Channel::retire(std::unique_ptr<QueueLink> link) {
  std::erase(dirty_links_, link.get());
  if (link->unacked == 0) return;
  lost_unacked_ += link->unacked;
  link->lost = true;
  link->ack_timeout_ms = 0;
  link->publishes.reset();
  link->acks.reset();
  link->rejects.reset();
  link->requeues.reset();
  link->bounces.reset();
  lost_links_.push_back(std::move(link));
}

// One of the line's deliveries is done with; the queue has it back already.
void Channel::finish_lost(QueueLink& link) {
  --lost_unacked_;
  if (link.unacked > 0) return;
  std::erase_if(lost_links_, [&link](const auto& one) { return one.get() == &link; });
}

// What was asked and is not the channel's end is answered in the node's stead.
void Channel::answer_for_peer() {
  const AwaitedAnswers::Entry& asked = awaited_.front();
  if (asked.cancels) {
    answered(asked.request, std::make_unique<queue::CancelOk>(asked.queue->qid));
  } else {
    answered(asked.request, std::make_unique<ReplyProbed>());
  }
}

}  // namespace ringtail::broker
