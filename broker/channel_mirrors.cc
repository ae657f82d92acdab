// What a channel does when a mirrored queue has another master.
//
// The line to the former master is lost: what came on it and is not acknowledged is ready again at
// the new one. What was published and not settled goes to the new one once more, and so does what
// was asked and not answered; consumers are subscribed again or cancelled. As long as no master is
// known the line waits; only when the queue is vacant it ends, as that of an unmirrored queue does
// whose node is down (channel_peers.cc).
#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "broker/amqp/field_table.h"
#include "broker/channel.h"

namespace ringtail::broker {

using cluster::metadata::QueueRecord;
using QueueRecordPtr = std::shared_ptr<const QueueRecord>;

namespace {

// As much of what is sent again as goes in one letter.
constexpr std::uint64_t kAgainBytes = runtime::kPublishWindowBytes / 16;

bool declared_with_mirrors(const QueueRecord& queue) {
  return amqp::find_in_table(runtime::as_bytes(queue.arguments), "x-ha-policy").has_value();
}

bool asks_for_cancel(const std::string& consumer_arguments) {
  const auto value =
      amqp::find_in_table(runtime::as_bytes(consumer_arguments), "x-cancel-on-ha-failover");
  return value && value->as_bool().value_or(false);
}

}  // namespace

// --- news of masters ----------------------------------------------------------------------------

// At the turn's end: a node that goes takes many masters with it.
void Channel::queue_changed(runtime::Qid qid) {
  if (ended_) return;
  changed_.push_back(qid);
  shard_.flush_batches_at_turn_end(batch_task_);
}

void Channel::queue_removed(runtime::Qid qid) {
  const auto found = links_.find(qid);
  // Where it has a master that lives, that one says what there is to say.
  if (found != links_.end() && found->second->waiting()) queue_changed(qid);
}

QueueRecordPtr Channel::current_record(const QueueRecord& queue) const {
  QueueRecordPtr current = broker_shard_.view().queue(queue.vhost, queue.name);
  return current != nullptr && current->qid == queue.qid ? std::move(current) : nullptr;
}

void Channel::follow_masters() {
  std::vector<runtime::Qid> changed = std::exchange(changed_, {});
  std::sort(changed.begin(), changed.end());
  changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
  Moves moves;
  for (const runtime::Qid qid : changed) {
    const auto found = links_.find(qid);
    if (found != links_.end()) follow_master(*found->second, moves);
  }
  if (moves.ended.empty() && moves.fresh.empty()) return;
  if (global_prefetch_ != 0) prefetch_changed_ = true;
  shard_.flush_batches_at_turn_end(batch_task_);
  if (!moves.fresh.empty()) {
    targets_.clear();
    cached_version_ = 0;
    move_consumers();
    for (auto& former : moves.former) retire(std::move(former));
    attach(moves.fresh);
  }
  if (!moves.ended.empty() || !moves.unanswered.empty()) end_moved(moves);
  if (!ended_ && tx_committing_)
    tx_commit_if_settled();  // what is left of it may have been refused
}

// The queue's record has changed: whether the line stays, moves or ends.
void Channel::follow_master(QueueLink& link, Moves& moves) {
  const QueueRecordPtr current = current_record(*link.record);
  if (current == nullptr) {
    if (link.waiting()) moves.ended.push_back(&link);
    return;
  }
  if (!link.mirrored() && current->view == nullptr) return;
  const bool vacant = current->view != nullptr && current->view->vacant();
  if (current->address() == link.address &&
      (current->epoch() == link.epoch || !link.mirrored() || current->view == nullptr)) {
    // The same master, which may have been the only copy before, or may be it now.
    link.record = current;
    link.epoch = current->epoch();
    if (!link.mirrored()) link.kept.clear();
    if (vacant && !link.down) {
      moves.ended.push_back(&link);
    } else if (link.mirrored() && link.down) {
      place(link);
    }
    return;
  }
  left_.erase(current->qid);
  const bool ends = current->view == nullptr ? !broker_shard_.node_is_up(current->home)
                                             : vacant || is_unreached(*current);
  if (ends && !link.down) {
    link.record = current;
    moves.ended.push_back(&link);
  } else {
    move_line(link, current, moves);
  }
}

bool Channel::is_unreached(const QueueRecord& queue) const {
  return broker_shard_.node_is_unreached(queue.home);
}

// Whether the queue that a new line leads to can be reached, now or soon.
void Channel::place(QueueLink& link) {
  const bool up = broker_shard_.node_is_up(link.address.node);
  const bool left = left_.contains(link.record->qid);
  link.congested = broker_shard_.node_is_congested(link.address.node);
  link.waits = QueueLink::Wait::kNothing;
  if (!link.mirrored()) {
    link.down = !up || left;
    return;
  }
  link.down = link.record->view->vacant() || is_unreached(*link.record) || left;
  if (!link.down && !up) link.waits = QueueLink::Wait::kNode;
}

// The node of the line's master has gone. True: there will be another master.
bool Channel::awaits_master(QueueLink& link) {
  if (!link.mirrored()) return false;
  const QueueRecordPtr current = current_record(*link.record);
  if (current == nullptr || current->view == nullptr || current->view->vacant()) return false;
  link.down = false;
  link.waits = QueueLink::Wait::kEpoch;
  awaited_.each_unanswered([&](AwaitedAnswers::Entry& entry) {
    if (entry.queue != nullptr && entry.queue->qid == link.record->qid) entry.waits = true;
  });
  return true;
}

// --- moving -------------------------------------------------------------------------------------

void Channel::move_line(QueueLink& link, QueueRecordPtr current, Moves& moves) {
  refuse_unkept(link);
  if (link.publishes != nullptr) {
    link.mark_batch();
    link.keep_batch();
    link.publishes.reset();
  }
  auto fresh = std::make_unique<QueueLink>(std::move(current));
  fresh->take_publishes(link);
  fresh->first_consumer = next_consumer_;
  place(*fresh);
  awaited_.each_unanswered([&](AwaitedAnswers::Entry& entry) {
    if (entry.queue == nullptr || entry.queue->qid != fresh->record->qid) return;
    entry.waits = true;
    if (entry.again == nullptr) moves.unanswered.push_back(fresh->record->qid);
  });
  link.lost = true;
  moves.fresh.push_back(fresh.get());
  moves.former.push_back(std::exchange(links_[fresh->record->qid], std::move(fresh)));
}

// What was published before the queue had mirrors cannot be sent again.
void Channel::refuse_unkept(QueueLink& link) {
  std::uint64_t up_to = link.next_number - 1;
  if (link.publishes != nullptr) up_to = link.publishes->first_number - 1;
  if (!link.kept.empty()) up_to = link.kept_from - 1;
  if (up_to + link.messages.outstanding() < link.next_number) return;
  for (; link.confirm_from <= up_to && !link.confirm_sequences.empty(); ++link.confirm_from) {
    confirms_.settle(link.confirm_sequences.front(), true);
    link.confirm_sequences.pop_front();
  }
  if (tx_committing_) tx_refused_ = true;
  link.settle(up_to);
}

// Consumers of lines that were lost, which are those that have just moved.
void Channel::move_consumers() {
  std::vector<Consumer*> moving;
  for (const auto& [id, consumer] : consumers_) {
    if (consumer->link->lost) moving.push_back(consumer);
  }
  std::sort(moving.begin(), moving.end(),
            [](const Consumer* a, const Consumer* b) { return a->id < b->id; });
  for (Consumer* consumer : moving) {
    if (!consumer->asked && cancels_at_failover(*consumer)) {
      reply(amqp::BasicCancel{.consumer_tag = consumer->tag, .nowait = true});
      forget_consumer(*consumer);
    } else {
      move_consumer(*consumer);
    }
  }
}

bool Channel::cancels_at_failover(const Consumer& consumer) const {
  return connection_.client_can_hear_cancel() &&
         (declared_with_mirrors(*consumer.link->record) || asks_for_cancel(consumer.arguments));
}

// Under a new id: what the former master delivers to the old one is of no interest.
void Channel::move_consumer(Consumer& consumer) {
  QueueLink& fresh = *links_.at(consumer.link->record->qid);
  --consumer.link->consumers;
  ++fresh.consumers;
  consumer.link = &fresh;
  bool cancelling = false;
  queue::Consume* asked = nullptr;
  awaited_.each_unanswered([&](AwaitedAnswers::Entry& entry) {
    if (entry.again == nullptr || entry.queue->qid != fresh.record->qid) return;
    if (entry.again->kind == queue::kConsume) {
      auto& consume = runtime::letter_cast<queue::Consume>(*entry.again);
      if (consume.consumer == consumer.id) asked = &consume;
    } else if (entry.again->kind == queue::kCancel) {
      cancelling |= runtime::letter_cast<queue::Cancel>(*entry.again).consumer == consumer.id;
    }
  });
  if (cancelling) return;  // the new master does not know it, and says that it is cancelled
  if (last_consumer_ == &consumer) last_consumer_ = nullptr;
  consumers_.erase(consumer.id);
  consumer.id = next_consumer_++;
  consumers_[consumer.id] = &consumer;
  consumer.written_messages = consumer.reported_messages = 0;
  consumer.written_bytes = consumer.reported_bytes = 0;
  consumer.subscribing = 0;
  consumer.subscribe_due = asked == nullptr;
  if (asked != nullptr) asked->consumer = consumer.id;
}

// --- sending again ------------------------------------------------------------------------------

// These lines have a master that is reached: it is sent what they have kept.
void Channel::attach(const std::vector<QueueLink*>& lines) {
  for (QueueLink* link : lines) {
    if (link->down || link->waiting()) continue;
    send_kept(*link);
    if (!link->mirrored()) link->kept.clear();
    reopen(*link);
    if (!link->full && !link->open()) {
      link->full = true;
      connection_.count_full_link(1);
    }
  }
  subscribe_again();
  ask_again();
}

void Channel::send_kept(QueueLink& link) {
  std::uint64_t number = link.kept_from;
  for (auto next = link.kept.begin(); next != link.kept.end();) {
    auto letter = std::make_unique<queue::Publish>(link.record->qid);
    letter->epoch = link.epoch;
    letter->first_number = number;
    for (std::uint64_t bytes = 0; next != link.kept.end() && bytes < kAgainBytes; ++next) {
      bytes += (*next)->footprint();
      letter->messages.push_back(*next);
    }
    number += letter->messages.size();
    shard_.post(address_, link.address, std::move(letter));
  }
}

std::unique_ptr<queue::Consume> Channel::subscription(Consumer& consumer) {
  if (!connection_.output_has_room()) {
    // A client that consumes again and again without reading gets nothing on top.
    consumer.held_back = true;
    if (!consumer.credit_due) want_credit(consumer);
  }
  auto request = std::make_unique<queue::Consume>(consumer.link->record->qid);
  request->consumer = consumer.id;
  request->tag = consumer.tag;
  request->no_ack = consumer.no_ack;
  request->exclusive = consumer.exclusive;
  request->prefetch = consumer.no_ack ? 0 : consumer.prefetch;
  request->window_bytes = connection_.window_per_consumer();
  request->delivery_limit = consumer.held_back ? 0 : queue::kNoDeliveryLimit;
  request->channel_limit = channel_limit(*consumer.link);
  request->priority = consumer.priority;
  return request;
}

void Channel::subscribe_again() {
  std::vector<Consumer*> due;
  for (const auto& [id, consumer] : consumers_) {
    const QueueLink& link = *consumer->link;
    if (consumer->subscribe_due && !link.down && !link.waiting()) due.push_back(consumer);
  }
  std::sort(due.begin(), due.end(),
            [](const Consumer* a, const Consumer* b) { return a->id < b->id; });
  for (Consumer* consumer : due) {
    consumer->subscribe_due = false;
    consumer->subscribing = next_request_++;
    auto request = subscription(*consumer);
    request->request = consumer->subscribing;
    request->epoch = consumer->link->epoch;
    shard_.post(address_, consumer->link->address, std::move(request));
  }
}

void Channel::subscribed_again(Consumer& consumer, const queue::ConsumeOk& answer) {
  consumer.subscribing = 0;
  if (answer.answer == queue::Answer::kOk) {
    set_ack_timeout(*consumer.link, answer.consumer_timeout_ms);
    return;
  }
  const QueueRecordPtr record = consumer.link->record;
  const std::string tag = consumer.tag;
  forget_consumer(consumer);
  if (connection_.client_can_hear_cancel()) {
    reply(amqp::BasicCancel{.consumer_tag = tag, .nowait = true});
    return;
  }
  method_class_ = 0;  // no method of the client's is to blame
  method_id_ = 0;
  fail(amqp::not_found_queue(record->vhost, record->name));
}

// Under new numbers: what the former master answers is of no interest.
void Channel::ask_again() {
  awaited_.each_unanswered([&](AwaitedAnswers::Entry& entry) {
    if (!entry.waits || entry.again == nullptr) return;
    const auto found = links_.find(entry.queue->qid);
    if (found == links_.end()) return;
    const QueueLink& link = *found->second;
    if (link.down || link.waiting()) return;
    entry.request = next_request_++;
    entry.node = link.address.node;
    entry.queue = link.record;
    entry.waits = false;
    if (entry.again->kind == queue::kConsume) {
      // There may be more room than there was, or less.
      Consumer* consumer = consumer_of(runtime::letter_cast<queue::Consume>(*entry.again).consumer);
      if (consumer != nullptr) entry.again = subscription(*consumer);
    }
    shard_.post(address_, link.address, entry.copy(*entry.again, entry.request, link.epoch));
  });
}

// --- where no master follows --------------------------------------------------------------------

void Channel::end_moved(const Moves& moves) {
  answer_deletes(moves.ended);
  if (ended_) return;
  std::set<runtime::Qid> ended;
  for (const QueueLink* link : moves.ended) ended.insert(link->record->qid);
  const std::set<runtime::Qid> unanswered(moves.unanswered.begin(), moves.unanswered.end());
  end_lines(moves.ended, [&](const AwaitedAnswers::Entry& asked) {
    if (asked.queue == nullptr) return false;
    return ended.contains(asked.queue->qid) ||
           (asked.again == nullptr && unanswered.contains(asked.queue->qid));
  });
}

// Who asked for the end of a queue that is gone has got it, whoever has seen to it.
void Channel::answer_deletes(const std::vector<QueueLink*>& lines) {
  std::vector<std::pair<std::uint64_t, runtime::Qid>> done;
  awaited_.each_unanswered([&](const AwaitedAnswers::Entry& entry) {
    if (entry.again == nullptr || entry.again->kind != queue::kDelete) return;
    const bool ends = std::any_of(lines.begin(), lines.end(), [&](const QueueLink* link) {
      return link->record->qid == entry.queue->qid;
    });
    if (ends && current_record(*entry.queue) == nullptr) {
      done.emplace_back(entry.request, entry.queue->qid);
    }
  });
  for (const auto& [request, qid] : done) {
    auto answer = std::make_unique<queue::DeleteResult>(qid);
    answer->answer = queue::Answer::kNotFound;
    answered(request, std::move(answer));
    if (ended_) return;
  }
}

}  // namespace ringtail::broker
