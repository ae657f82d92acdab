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
                           Removals& removals, Discard& discard, DeadLetterSink& dead_letters,
                           store::StoreShard* stores, MasterRing* ring)
    : shard_(shard),
      record_(std::move(record)),
      qid_(record_->qid),
      address_{shard.node(), shard.id(), runtime::ActorId{qid_.value}},
      removals_(removals),
      discard_(discard),
      dead_letters_(dead_letters),
      stores_(stores),
      ring_(ring),
      keeps_(stores != nullptr && record_->durable && !record_->exclusive()),
      held_(stores != nullptr && stores->starting()),
      state_(record_->options.max_priority),
      consumers_(record_->options.single_active_consumer) {
  if (ring_ == nullptr) shard_.add(address_.actor, *this);
  apply_options();
}

QueueProcess::~QueueProcess() {
  if (backing_ != nullptr && backing_->has_backlog) stores_->backlog_ended();
  store_.reset();
  if (ring_ == nullptr) shard_.remove(address_.actor);
  empty_out();
}

void QueueProcess::receive(LetterPtr letter) noexcept {
  owner_.check();
  // Other nodes do not wait for this one's start, and numbers go on where they ended.
  if (held_) return early_.push_back(std::move(letter));
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
  const std::uint64_t up_to = letter.first_number + letter.messages.size() - 1;
  if (going_ || (keeps_ && refuses_for_damage(letter, link))) {
    settle_publishes(link, up_to);
    return;
  }
  statistics_.published += letter.messages.size();
  std::size_t done = 0;
  if (plain_) {
    if (!keeps_) {
      done = publish_plain(letter.messages);
    } else {
      done = publish_kept(letter.messages);
    }
  }
  if (done < letter.messages.size()) [[unlikely]]
    publish_by_rules(letter, link, done);
  settle_publishes(link, up_to);
}

std::size_t QueueProcess::publish_plain(std::vector<MessageRef>& messages) {
  const auto expires = [](const MessageRef& message) {
    return message->traits().expiration_ms != kNoExpiration;
  };
  auto message = messages.begin();
  if (state_.ready() == 0) {
    // Nobody is overtaken: what a consumer can take now need not be queued first.
    for (; message != messages.end() && !expires(*message); ++message) {
      Consumer* consumer = consumers_.next();
      if (consumer == nullptr) break;
      deliver(*consumer, state_.pass(std::move(*message)), Terms(), false);
    }
  }
  for (; message != messages.end() && !expires(*message); ++message) {
    state_.push(std::move(*message));
  }
  return static_cast<std::size_t>(message - messages.begin());
}

void QueueProcess::dispatch() {
  if (going_ || held_ || !drop_by_rules()) return;
  while (state_.can_take()) {
    Consumer* consumer = consumers_.next();
    if (consumer == nullptr || !ready_to_hand_out()) return;
    Terms terms;
    Entry entry = state_.take(terms);
    deliver(*consumer, std::move(entry), terms, true);
    if (state_.ready_expiring() != 0 && !expire_head()) return;
  }
}

void QueueProcess::deliver(Consumer& consumer, Entry entry, Terms terms, bool kept) {
  ChannelLink& link = consumer.link();
  consumers_.sent(consumer, entry.message()->footprint());
  count_delivery(entry);
  note_furthest(receiver(consumer), entry.position());
  if (link.deliver == nullptr) {
    link.deliver = std::make_unique<Deliver>(qid_);
    link.deliver->deliveries.reserve(std::min(link.last_batch, kBatchReserveMax));
    mark_unflushed(link);
  }
  Delivery& delivery = link.deliver->deliveries.emplace_back();
  delivery.consumer = consumer.id();
  delivery.redelivered = entry.redelivered();
  if (terms.returns() != 0) delivery.delivery_count = delivery_count(terms);
  if (consumer.no_ack()) {
    if (kept) {
      gone(entry, terms);
    } else if (ring_ != nullptr) [[unlikely]] {
      gone_from_ring(entry);
    }
    delivery.message = entry.take_message();
  } else {
    delivery.message = entry.message();
    delivery.token = unacked_.hold(std::move(entry), terms, link, &consumer);
  }
}

void QueueProcess::count_delivery(const Entry& entry) {
  ++statistics_.delivered;
  if (entry.redelivered()) ++statistics_.redelivered;
}

std::uint16_t QueueProcess::delivery_count(Terms terms) const {
  return rules_ != nullptr && rules_->options.delivery_limit ? terms.returns() : std::uint16_t{0};
}

std::uint64_t QueueProcess::consumer_timeout() const {
  return rules_ == nullptr ? 0 : rules_->options.consumer_timeout_ms.value_or(0);
}

void QueueProcess::on_get(const Get& letter) {
  watch_use();
  const WaitingGet get{letter.from, letter.request, letter.no_ack};
  if (going_ || is_unreadable() || (drop_by_rules() && ready_to_hand_out())) {
    give(get);
  } else {
    waiting_gets_.push_back(get);
  }
}

void QueueProcess::serve_gets() {
  std::size_t served = 0;
  while (served < waiting_gets_.size() && !going_ && !held_ && drop_by_rules() &&
         ready_to_hand_out()) {
    give(WaitingGet(waiting_gets_[served++]));
  }
  waiting_gets_.erase(waiting_gets_.begin(),
                      waiting_gets_.begin() + static_cast<std::ptrdiff_t>(served));
}

void QueueProcess::refuse_gets() {
  for (const WaitingGet& get : std::exchange(waiting_gets_, {})) give(get);
}

void QueueProcess::give(const WaitingGet& get) {
  auto result = std::make_unique<GetResult>(qid_);
  result->request = get.request;
  if (going_) {
    result->answer = Answer::kNotFound;
  } else if (is_unreadable()) {
    result->answer = Answer::kDamaged;
  } else if (state_.ready() > 0) {
    Terms terms;
    Entry entry = state_.take(terms);
    // What has expired behind it is not left.
    if (state_.ready_expiring() != 0) expire_head();
    count_delivery(entry);
    note_furthest(kGetter, entry.position());
    result->redelivered = entry.redelivered();
    result->delivery_count = delivery_count(terms);
    result->message = entry.message();
    result->messages_ready = state_.ready();
    result->consumer_timeout_ms = consumer_timeout();
    if (get.no_ack) {
      gone(entry, terms);
    } else {
      result->token = unacked_.hold(std::move(entry), terms, link_of(get.from), nullptr);
    }
  }
  answer(get.from, std::move(result));
}

void QueueProcess::on_ack(const Ack& letter) {
  ChannelLink* link = find_link(letter.from);
  if (link == nullptr) return;
  for (const DeliveryToken token : letter.tokens) {
    Unacked::Held held = unacked_.release(token, *link);
    if (!held.entry) continue;
    gone(held.entry, held.terms);
    if (letter.rejected) {
      dead_letter(DeathReason::kRejected, held.entry.take_message());
    } else {
      ++statistics_.acknowledged;
    }
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
    if (letter.redelivered) {
      take_back(held);
    } else {
      // It never reached the client, so that it was no delivery.
      --statistics_.delivered;
      if (held.entry.redelivered()) --statistics_.redelivered;
      const bool mark = overtaken(*link, held.entry.position());
      state_.put_back(std::move(held.entry), held.terms, mark);
    }
    settle(held.consumer);
  }
  settled();
}

void QueueProcess::take_back(Unacked::Held& held) {
  if (may_return(held.terms)) {
    state_.put_back(std::move(held.entry), held.terms, true);
  } else {
    gone(held.entry, held.terms);
    dead_letter(DeathReason::kDeliveryLimit, held.entry.take_message());
  }
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
  } else if (is_unreadable()) {
    reply->answer = Answer::kDamaged;
  } else if (!consumers_.admits(letter.exclusive)) {
    reply->answer = Answer::kExclusiveUse;
  }
  reply->consumer_timeout_ms = consumer_timeout();
  const bool admitted = reply->answer == Answer::kOk;
  answer(letter.from, std::move(reply));
  if (!admitted) return;
  ChannelLink& link = link_of(letter.from);
  const auto [at, added] =
      link.consumers.emplace(letter.consumer, std::make_unique<Consumer>(link, letter));
  if (!added) {
    RT_CHECK(letter.from.node != shard_.node(), "a consumer id that was used before");
    return;
  }
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
  dispatch();  // another one may be the single active consumer now
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
  std::erase_if(waiting_gets_, [&](const WaitingGet& get) { return get.from == letter.from; });
  if (ChannelLink* link = find_link(letter.from)) forget({&link, 1});
  if (!letter.wants_notice) return;
  auto notice = std::make_unique<ChannelForgotten>(qid_);
  notice->request = letter.request;
  shard_.post(address_, letter.notify, std::move(notice));
}

void QueueProcess::peer_down(runtime::NodeId peer) {
  std::erase_if(early_, [&](const LetterPtr& letter) { return letter->from.node == peer; });
  std::erase_if(waiting_gets_, [&](const WaitingGet& get) { return get.from.node == peer; });
  // The node's next life uses its addresses again: nothing may be sent to them.
  if (backing_ != nullptr) {
    std::erase_if(backing_->unkept,
                  [&](const Backing::Unkept& one) { return one.channel.node == peer; });
  }
  std::vector<ChannelLink*> going;
  for (auto at = links_.lower_bound({peer, {}, {}}); at != links_.end(); ++at) {
    if (at->first.node != peer) break;
    going.push_back(&at->second);
  }
  if (!going.empty()) forget(going);
}

// All consumers go before the first message comes back: it must not be sent to one of them.
void QueueProcess::forget(std::span<ChannelLink* const> going) {
  bool had_consumers = false;
  for (ChannelLink* link : going) {
    for (auto& [id, consumer] : link->consumers) {
      if (consumer->cancelled()) continue;
      consumers_.remove(*consumer);
      had_consumers = true;
    }
  }
  for (ChannelLink* link : going) {
    for (;;) {
      Unacked::Held held = unacked_.release_first(*link);
      if (!held.entry) break;
      take_back(held);
    }
    if (link->is_linked()) unflushed_.erase(unflushed_.iterator_to(*link));
    if (last_link_ == link) last_link_ = nullptr;
    links_.erase(Address(link->address));
  }
  if (had_consumers) consumer_left();
  settled();
}

void QueueProcess::consumer_left() {
  if (record_->auto_delete && consumers_.count() == 0) remove_self();
  watch_use();
}

// --- the queue as a whole ---------------------------------------------------------------------

void QueueProcess::on_purge(const Purge& letter) {
  auto reply = reply_to<Purged>(letter);
  if (going_) {
    reply->answer = Answer::kNotFound;
  } else if (is_unreadable()) {
    reply->answer = Answer::kDamaged;
  } else {
    reply->messages = state_.ready();
    for (EntryFifo& entries : state_.take_all()) discard_.add(std::move(entries));
    if (ring_ != nullptr) purge_ring();
    if (store_ != nullptr) purge_store();
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
      stats.exclusive = consumers_.is_exclusive(*consumer);
      stats.active = consumers_.is_active(*consumer);
      stats.priority = consumer->priority();
      stats.prefetch = consumer->prefetch();
      all.push_back(std::move(stats));
    }
  }
  return all;
}

void QueueProcess::on_inspect(const Inspect& letter) {
  if (letter.counts_as_use) watch_use();
  auto reply = reply_to<Inspected>(letter);
  if (going_) {
    reply->answer = Answer::kNotFound;
  } else if (is_unreadable()) {
    reply->answer = Answer::kDamaged;
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
  refuse_gets();
  if (rules_ == nullptr) return;
  if (rules_->head_timer != nullptr) rules_->head_timer->stop();
  if (rules_->unused_timer != nullptr) rules_->unused_timer->stop();
}

void QueueProcess::removed() {
  going_ = true;
  refuse_gets();
  // To whoever answers in the place of queues that are gone.
  for (LetterPtr& letter : std::exchange(early_, {})) {
    const runtime::Address from = letter->from;
    shard_.post(from, address_, std::move(letter));
  }
  if (store_ != nullptr) {
    store_->erase();
    settle_all();
  } else if (keeps_) {
    stores_->remove_directory(stores_->directory_of(record_->vhost, record_->name, true));
  }
  for (auto& [address, link] : links_) {
    flush(link);
    for (auto& [id, consumer] : link.consumers) {
      if (consumer->cancelled()) continue;
      auto cancelled = std::make_unique<Cancelled>(qid_);
      cancelled->consumer = id;
      // Together with the answer to whoever asked for the removal: a client that consumes from what
      // it deletes hears both, or neither if the node ends first.
      LetterPtr notice = std::move(cancelled);
      if (!removals_.owe_notice(qid_, address, notice)) {
        shard_.post(address_, address, std::move(notice));
      }
    }
  }
  for (EntryFifo& entries : empty_out()) discard_.add(std::move(entries));
}

std::vector<EntryFifo> QueueProcess::empty_out() {
  std::vector<EntryFifo> all = state_.take_all();
  EntryFifo handed_out;
  for (auto& [address, link] : links_) {
    for (auto& [id, consumer] : link.consumers) {
      if (!consumer->cancelled()) consumers_.remove(*consumer);
    }
    for (;;) {
      Unacked::Held held = unacked_.release_first(link);
      if (!held.entry) break;
      handed_out.push(std::move(held.entry));
    }
  }
  all.push_back(std::move(handed_out));
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
    if (link.rejected.empty() || link.rejected.back() <= link.settled) {
      settled->rejected = std::exchange(link.rejected, {});
    } else {
      // Some were refused while others before them are not kept yet.
      const auto later = std::upper_bound(link.rejected.begin(), link.rejected.end(), link.settled);
      settled->rejected.assign(link.rejected.begin(), later);
      link.rejected.erase(link.rejected.begin(), later);
    }
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
  if (rules_ != nullptr) continue_dropping();
  if (store_ != nullptr) store_->end_turn();
  if (stores_ != nullptr) look_at_backlog();
  while (!unflushed_.empty()) flush(unflushed_.front());
  unacked_.trim();
}

}  // namespace ringtail::queue
