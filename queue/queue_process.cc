#include "queue/queue_process.h"

#include <algorithm>
#include <utility>

#include "broker/runtime/check.h"

namespace ringtail::queue {

using runtime::Address;
using runtime::LetterPtr;

namespace {

// Deliveries that a new letter makes room for at once, at most: a channel that got many in the last
// turn may get few in this one.
constexpr std::size_t kBatchReserveMax = 1024;

// An answer to a request, with the request's number.
template <typename AnswerLetter, typename Request>
std::unique_ptr<AnswerLetter> reply_to(const Request& request) {
  auto reply = std::make_unique<AnswerLetter>(request.qid);
  reply->request = request.request;
  return reply;
}

}  // namespace

QueueProcess::QueueProcess(runtime::Shard& shard,
                           std::shared_ptr<const cluster::metadata::QueueRecord> record,
                           Removals& removals, Discard& discard)
    : shard_(shard),
      record_(std::move(record)),
      qid_(record_->qid),
      address_(shard.add(runtime::ActorId{qid_.value}, *this)),
      removals_(removals),
      discard_(discard) {}

QueueProcess::~QueueProcess() {
  shard_.remove(address_.actor);
  empty_out();
}

void QueueProcess::receive(LetterPtr letter) noexcept {
  owner_.check();
  using runtime::letter_cast;
  switch (static_cast<QueueLetterKind>(letter->kind)) {
    case kPublish:
      return on_publish(letter_cast<Publish>(*letter));
    case kConsume:
      return on_consume(letter_cast<Consume>(*letter));
    case kCancel:
      return on_cancel(letter_cast<Cancel>(*letter));
    case kGet:
      return on_get(letter_cast<Get>(*letter));
    case kAck:
      return on_ack(letter_cast<Ack>(*letter));
    case kRequeue:
      return on_requeue(letter_cast<Requeue>(*letter));
    case kCredit:
      return on_credit(letter_cast<Credit>(*letter));
    case kPurge:
      return on_purge(letter_cast<Purge>(*letter));
    case kInspect:
      return on_inspect(letter_cast<Inspect>(*letter));
    case kDelete:
      return on_delete(letter_cast<Delete>(*letter));
    case kChannelGone:
      return on_channel_gone(letter_cast<ChannelGone>(*letter));
    case kSettled:
    case kConsumeOk:
    case kCancelOk:
    case kDeliver:
    case kGetResult:
    case kPurged:
    case kInspected:
    case kDeleteResult:
    case kCancelled:
    case kResumed:
    case kChannelForgotten:
      break;
  }
  RT_CHECK(false, "a letter that no queue receives");
}

// --- publishing and delivering ----------------------------------------------------------------

void QueueProcess::on_publish(Publish& letter) {
  ChannelLink& link = link_of(letter.from);
  link.settled = letter.first_number + letter.messages.size() - 1;
  link.settled_due = true;
  mark_unflushed(link);
  if (going_) return;
  statistics_.published += letter.messages.size();
  auto message = letter.messages.begin();
  if (state_.ready() == 0) {
    // Nobody is overtaken: what a consumer can take now need not be queued first.
    for (; message != letter.messages.end(); ++message) {
      Consumer* consumer = consumers_.next();
      if (consumer == nullptr) break;
      deliver(*consumer, state_.pass(std::move(*message)));
    }
  }
  for (; message != letter.messages.end(); ++message) state_.push(std::move(*message));
}

void QueueProcess::dispatch() {
  if (going_) return;
  while (state_.ready() > 0) {
    Consumer* consumer = consumers_.next();
    if (consumer == nullptr) return;
    deliver(*consumer, state_.take());
  }
}

void QueueProcess::deliver(Consumer& consumer, Entry entry) {
  ChannelLink& link = consumer.link();
  consumers_.sent(consumer, entry.message()->footprint());
  count_delivery(entry);
  note_furthest(receiver(consumer), entry.position());
  Delivery delivery;
  delivery.consumer = consumer.id();
  delivery.redelivered = entry.redelivered();
  if (consumer.no_ack()) {
    delivery.message = entry.take_message();
  } else {
    delivery.message = entry.message();
    delivery.token = unacked_.hold(std::move(entry), link, &consumer);
  }
  if (link.deliver == nullptr) {
    link.deliver = std::make_unique<Deliver>(qid_);
    link.deliver->deliveries.reserve(std::min(link.last_batch, kBatchReserveMax));
    mark_unflushed(link);
  }
  link.deliver->deliveries.push_back(std::move(delivery));
}

void QueueProcess::count_delivery(const Entry& entry) {
  ++statistics_.delivered;
  if (entry.redelivered()) ++statistics_.redelivered;
}

void QueueProcess::on_get(const Get& letter) {
  auto result = reply_to<GetResult>(letter);
  if (going_) {
    result->answer = Answer::kNotFound;
  } else if (state_.ready() > 0) {
    Entry entry = state_.take();
    count_delivery(entry);
    note_furthest(kGetter, entry.position());
    result->redelivered = entry.redelivered();
    result->message = entry.message();
    result->messages_ready = state_.ready();
    if (!letter.no_ack) {
      result->token = unacked_.hold(std::move(entry), link_of(letter.from), nullptr);
    }
  }
  answer(letter.from, std::move(result));
}

void QueueProcess::on_ack(const Ack& letter) {
  ChannelLink* link = find_link(letter.from);
  if (link == nullptr) return;
  for (const DeliveryToken token : letter.tokens) {
    const Unacked::Held held = unacked_.release(token, *link);
    if (!held.entry) continue;
    if (!letter.rejected) ++statistics_.acknowledged;
    settle(held.consumer);
  }
  settled();
}

void QueueProcess::on_requeue(const Requeue& letter) {
  ChannelLink* link = find_link(letter.from);
  if (link == nullptr) return;
  for (const DeliveryToken token : letter.tokens) {
    Unacked::Held held = unacked_.release(token, *link);
    if (!held.entry) continue;
    if (!letter.redelivered) {
      // It never reached the client, so that it was no delivery.
      --statistics_.delivered;
      if (held.entry.redelivered()) --statistics_.redelivered;
    }
    const bool mark = letter.redelivered || overtaken(*link, held.entry.position());
    state_.put_back(std::move(held.entry), mark);
    settle(held.consumer);
  }
  settled();
}

void QueueProcess::settle(Consumer* consumer) {
  if (consumer == nullptr) return;
  consumers_.settled(*consumer);
  if (consumer->cancelled() && consumer->unacked() == 0) {
    consumer->link().consumers.erase(consumer->id());
  }
}

void QueueProcess::settled() {
  // The turn's end gives back the memory of many slots, unless the dispatch fills them again.
  if (unacked_.count() == 0) shard_.flush_batches_at_turn_end(*this);
  dispatch();
}

// --- consumers --------------------------------------------------------------------------------

void QueueProcess::on_consume(const Consume& letter) {
  auto reply = reply_to<ConsumeOk>(letter);
  reply->consumer = letter.consumer;
  if (going_) {
    reply->answer = Answer::kNotFound;
  } else if (!consumers_.admits(letter.exclusive)) {
    reply->answer = Answer::kExclusiveUse;
  }
  const bool admitted = reply->answer == Answer::kOk;
  answer(letter.from, std::move(reply));
  if (!admitted) return;
  ChannelLink& link = link_of(letter.from);
  const auto [at, added] =
      link.consumers.emplace(letter.consumer, std::make_unique<Consumer>(link, letter));
  RT_CHECK(added, "a consumer id that was used before");
  consumers_.add(*at->second, letter.priority, letter.exclusive);
  dispatch();
}

void QueueProcess::on_cancel(const Cancel& letter) {
  auto reply = reply_to<CancelOk>(letter);
  reply->consumer = letter.consumer;
  if (ChannelLink* link = find_link(letter.from)) {
    const auto at = link->consumers.find(letter.consumer);
    if (at != link->consumers.end() && !at->second->cancelled()) {
      consumers_.remove(*at->second);
      if (at->second->unacked() == 0) link->consumers.erase(at);
      consumer_left();
    }
  }
  if (going_) {
    // After cancel-ok of its last consumer an auto-delete queue is gone for everybody.
    removals_.owe(qid_, letter.from, std::move(reply));
  } else {
    answer(letter.from, std::move(reply));
  }
}

void QueueProcess::on_credit(const Credit& letter) {
  ChannelLink* link = find_link(letter.from);
  if (link == nullptr) return;
  const auto at = link->consumers.find(letter.consumer);
  if (at == link->consumers.end() || at->second->cancelled()) return;
  if (consumers_.credit(*at->second, letter)) {
    auto resumed = std::make_unique<Resumed>(qid_);
    resumed->consumer = letter.consumer;
    answer(letter.from, std::move(resumed));
  }
  dispatch();
}

void QueueProcess::on_channel_gone(const ChannelGone& letter) {
  if (ChannelLink* link = find_link(letter.from)) forget(*link);
  if (!letter.wants_notice) return;
  auto notice = std::make_unique<ChannelForgotten>(qid_);
  notice->request = letter.request;
  shard_.post(address_, letter.notify, std::move(notice));
}

void QueueProcess::forget(ChannelLink& going) {
  ChannelLink* link = &going;
  bool had_consumers = false;
  for (auto& [id, consumer] : link->consumers) {
    if (consumer->cancelled()) continue;
    consumers_.remove(*consumer);
    had_consumers = true;
  }
  for (;;) {
    Unacked::Held held = unacked_.release_first(*link);
    if (!held.entry) break;
    state_.put_back(std::move(held.entry), true);
  }
  if (link->is_linked()) unflushed_.erase(unflushed_.iterator_to(*link));
  if (last_link_ == link) last_link_ = nullptr;
  links_.erase(Address(link->address));
  if (had_consumers) consumer_left();
  settled();
}

void QueueProcess::consumer_left() {
  if (record_->auto_delete && consumers_.count() == 0) remove_self();
}

// --- the queue as a whole ---------------------------------------------------------------------

void QueueProcess::on_purge(const Purge& letter) {
  auto reply = reply_to<Purged>(letter);
  if (going_) {
    reply->answer = Answer::kNotFound;
  } else {
    reply->messages = state_.ready();
    discard_.add(state_.take_all());
  }
  answer(letter.from, std::move(reply));
}

QueueStats QueueProcess::stats() const {
  return {.messages_ready = state_.ready(),
          .messages_unacknowledged = unacked_.count(),
          .message_bytes_ready = state_.ready_bytes(),
          .published = statistics_.published,
          .delivered = statistics_.delivered,
          .acknowledged = statistics_.acknowledged,
          .redelivered = statistics_.redelivered,
          .consumers = consumers_.count()};
}

std::vector<ConsumerStats> QueueProcess::consumer_stats() const {
  std::vector<ConsumerStats> all;
  for (const auto& [address, link] : links_) {
    for (const auto& [id, consumer] : link.consumers) {
      if (consumer->cancelled()) continue;
      ConsumerStats stats;
      stats.channel = address;
      stats.id = id;
      stats.tag = consumer->tag();
      stats.ack_required = !consumer->no_ack();
      all.push_back(std::move(stats));
    }
  }
  return all;
}

void QueueProcess::on_inspect(const Inspect& letter) {
  auto reply = reply_to<Inspected>(letter);
  if (going_) {
    reply->answer = Answer::kNotFound;
  } else {
    reply->messages_ready = state_.ready();
    reply->messages_unacknowledged = unacked_.count();
    reply->message_bytes_ready = state_.ready_bytes();
    reply->consumers = consumers_.count();
    reply->published = statistics_.published;
    reply->delivered = statistics_.delivered;
    reply->acknowledged = statistics_.acknowledged;
    reply->redelivered = statistics_.redelivered;
  }
  answer(letter.from, std::move(reply));
}

void QueueProcess::on_delete(const Delete& letter) {
  auto reply = reply_to<DeleteResult>(letter);
  if (going_) {
    // Somebody was first; but this one too hears of it when the queue is gone.
    reply->answer = Answer::kNotFound;
  } else if (letter.if_empty && state_.ready() > 0) {
    reply->answer = Answer::kNotEmpty;
  } else if (letter.if_unused && consumers_.count() > 0) {
    reply->answer = Answer::kInUse;
  } else {
    reply->messages = state_.ready();
    remove_self();
  }
  if (going_) {
    removals_.owe(qid_, letter.from, std::move(reply));
  } else {
    answer(letter.from, std::move(reply));
  }
}

void QueueProcess::remove_self() {
  if (going_) return;
  going_ = true;
  removals_.start(record_);
}

void QueueProcess::removed() {
  for (auto& [address, link] : links_) {
    flush(link);
    for (auto& [id, consumer] : link.consumers) {
      if (consumer->cancelled()) continue;
      auto notice = std::make_unique<Cancelled>(qid_);
      notice->consumer = id;
      shard_.post(address_, address, std::move(notice));
    }
  }
  discard_.add(empty_out());
}

EntryFifo QueueProcess::empty_out() {
  EntryFifo all = state_.take_all();
  for (auto& [address, link] : links_) {
    for (auto& [id, consumer] : link.consumers) {
      if (!consumer->cancelled()) consumers_.remove(*consumer);
    }
    for (;;) {
      Unacked::Held held = unacked_.release_first(link);
      if (!held.entry) break;
      all.push(std::move(held.entry));
    }
  }
  unflushed_.clear();
  last_link_ = nullptr;
  links_.clear();
  return all;
}

// --- answers ----------------------------------------------------------------------------------

ChannelLink* QueueProcess::find_link(const Address& channel) {
  if (last_link_ != nullptr && last_link_->address == channel) return last_link_;
  const auto at = links_.find(channel);
  if (at == links_.end()) return nullptr;
  last_link_ = &at->second;
  return last_link_;
}

ChannelLink& QueueProcess::link_of(const Address& channel) {
  if (ChannelLink* link = find_link(channel)) return *link;
  last_link_ = &links_.try_emplace(channel, channel, ++last_serial_).first->second;
  return *last_link_;
}

void QueueProcess::mark_unflushed(ChannelLink& link) {
  if (link.is_linked()) return;
  unflushed_.push_back(link);
  shard_.flush_batches_at_turn_end(*this);
}

void QueueProcess::flush(ChannelLink& link) {
  if (link.is_linked()) unflushed_.erase(unflushed_.iterator_to(link));
  if (link.settled_due) {
    link.settled_due = false;
    auto settled = std::make_unique<Settled>(qid_);
    settled->up_to = link.settled;
    shard_.post(address_, link.address, std::move(settled));
  }
  if (link.deliver != nullptr) {
    link.last_batch = link.deliver->deliveries.size();
    shard_.post(address_, link.address, std::move(link.deliver));
  }
}

void QueueProcess::answer(const Address& to, LetterPtr letter) {
  if (ChannelLink* link = find_link(to)) flush(*link);
  shard_.post(address_, to, std::move(letter));
}

void QueueProcess::turn_end() noexcept {
  while (!unflushed_.empty()) flush(unflushed_.front());
  unacked_.trim();
}

}  // namespace ringtail::queue
