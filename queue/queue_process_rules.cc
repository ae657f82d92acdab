// A queue's work by rule: what it refuses, drops and dead-letters, and its own end when nobody uses
// it. A plain queue comes here only for messages that expire.
//
// The rules act on the head, the message that would be delivered next. What is over a limit goes
// before what has expired. A long backlog (a policy made the limit smaller, a million messages
// expire at once) is dropped in portions; until it is done nothing is handed out.
#include <algorithm>
#include <utility>

#include "broker/runtime/check.h"
#include "queue/queue_process.h"

namespace ringtail::queue {

using cluster::metadata::Overflow;
using cluster::metadata::QueueOptions;
using cluster::metadata::QueueRecord;

std::uint64_t QueueProcess::now_ms() const { return shard_.env().clock().monotonic_ms(); }

Rules& QueueProcess::rules() {
  if (rules_ == nullptr) rules_ = std::make_unique<Rules>();
  return *rules_;
}

void QueueProcess::changed(std::shared_ptr<const QueueRecord> record) {
  owner_.check();
  RT_CHECK(record->qid == qid_, "the record of another queue");
  record_ = std::move(record);
  if (going_) return;
  apply_options();
  dispatch();
}

void QueueProcess::apply_options() {
  QueueOptions options = cluster::metadata::merged(record_->options, record_->policy.get());
  if (rules_ == nullptr && options == QueueOptions()) return;
  rules().set(std::move(options));
  plain_ = !rules_->looks_at_publishes();
  if (rules_->unused_timer != nullptr) rules_->unused_timer->stop();
  rules_->unused_running = false;
  watch_use();
}

// --- publishing ---------------------------------------------------------------------------------

void QueueProcess::publish_by_rules(Publish& letter, ChannelLink& link, std::size_t from) {
  Rules& rule = rules();
  // Who publishes much may drop much: a full queue keeps up with what comes.
  rule.drops_left += letter.messages.size() - from;
  drop_by_rules();
  for (std::size_t at = from; at < letter.messages.size(); ++at) {
    MessageRef& message = letter.messages[at];
    if (rule.refuses && would_pass_limit(*message)) {
      refuse(std::move(message), link, letter.first_number + at);
    } else {
      const Terms terms = terms_of(*message);
      enqueue(std::move(message), terms);
    }
  }
  if (store_ != nullptr) store_->end_publish();
  dispatch();
}

bool QueueProcess::would_pass_limit(const Message& message) const {
  return state_.ready() + 1 > rules_->max_length ||
         state_.ready_bytes() + message.body_size() > rules_->max_bytes;
}

void QueueProcess::refuse(MessageRef message, ChannelLink& link, std::uint64_t number) {
  --statistics_.published;
  link.rejected.push_back(number);
  if (rules_->options.overflow == Overflow::kRejectPublishDlx) {
    dead_letter(DeathReason::kMaxLength, std::move(message));
  }
}

void QueueProcess::enqueue(MessageRef message, Terms terms) {
  const std::uint8_t priority = message->traits().has_priority ? message->traits().priority : 0;
  if (state_.ready() == 0) {
    Consumer* const consumer = consumers_.next();
    if (consumer != nullptr && (ring_ == nullptr || ring_->may_deliver(state_.next_number()))) {
      const bool kept = is_kept(*message) && !consumer->no_ack();
      if (kept) keep(*message, priority, terms, true);
      deliver(*consumer, state_.pass(std::move(message), priority), terms, kept);
      return;
    }
  }
  if (is_kept(*message)) keep(*message, priority, terms, false);
  state_.push(std::move(message), terms, priority);
  if (rules_ == nullptr) return;
  const bool dropped = over_limit();
  if (dropped) drop_over_limit();
  // The head is another one: before the next message comes, since it may take up a limit's room.
  if ((dropped || state_.ready() == 1) && state_.ready_expiring() != 0) expire_head();
}

Terms QueueProcess::terms_of(const Message& message) const {
  const std::uint64_t ttl = std::min(rules_->ttl_ms, message.traits().expiration_ms);
  if (ttl == kNoExpiration) return {};
  const std::uint64_t now = now_ms();
  return Terms::expiring_at(now + std::min(ttl, ~now));
}

// --- dropping -----------------------------------------------------------------------------------

bool QueueProcess::over_limit() const {
  return rules_->drops_head &&
         (state_.ready() > rules_->max_length || state_.ready_bytes() > rules_->max_bytes);
}

bool QueueProcess::drop_by_rules() {
  if (rules_ == nullptr) return true;
  return drop_over_limit() && (state_.ready_expiring() == 0 || expire_head());
}

bool QueueProcess::drop_over_limit() {
  while (over_limit()) {
    if (!state_.can_take()) return false;  // when it is here again
    if (!drop_head(DeathReason::kMaxLength)) return false;
  }
  return true;
}

bool QueueProcess::expire_head() {
  const std::uint64_t now = now_ms();
  while (state_.can_take()) {
    const Terms terms = state_.front_terms();
    if (!terms.expired(now)) {
      if (terms.expires()) watch_head(terms.expires_at_ms(), now);
      return true;
    }
    if (!drop_head(DeathReason::kExpired)) return false;
  }
  return true;
}

bool QueueProcess::drop_head(DeathReason reason) {
  shard_.flush_batches_at_turn_end(*this);  // for the next round's portion
  if (rules_->drops_left == 0) {
    rules_->unfinished = true;
    return false;
  }
  --rules_->drops_left;
  Terms terms;
  Entry entry = state_.take(terms);
  gone(entry, terms);
  dead_letter(reason, entry.take_message());
  return true;
}

void QueueProcess::continue_dropping() {
  Rules& rule = *rules_;
  rule.drops_left = kDropsPerRound;
  if (!rule.unfinished) return;
  rule.unfinished = false;
  dispatch();
  serve_gets();
}

void QueueProcess::watch_head(std::uint64_t time_ms, std::uint64_t now) {
  Rules& rule = *rules_;
  // Rather once too early than once more for every message.
  if (rule.head_due_ms <= time_ms) return;
  if (rule.head_timer == nullptr) {
    rule.head_timer = shard_.env().timers().make([this] {
      rules_->head_due_ms = Rules::kNone;
      dispatch();
    });
  }
  rule.head_due_ms = time_ms;
  rule.head_timer->start(time_ms - now);
}

void QueueProcess::dead_letter(DeathReason reason, MessageRef message) {
  if (rules_ == nullptr || !rules_->options.dead_letter_exchange) return;
  dead_letters_.dead_letter(record_, rules_->options, reason, std::move(message));
}

bool QueueProcess::may_return(Terms& terms) const {
  terms.count_return();
  return rules_ == nullptr || terms.returns() <= rules_->delivery_limit;
}

// --- the unused queue ---------------------------------------------------------------------------

void QueueProcess::watch_use() {
  if (rules_ == nullptr || rules_->unused_ms == Rules::kNone || going_) return;
  Rules& rule = *rules_;
  rule.last_used_ms = now_ms();
  if (rule.unused_running || consumers_.count() > 0) return;
  if (rule.unused_timer == nullptr) {
    rule.unused_timer = shard_.env().timers().make([this] { look_at_use(); });
  }
  rule.unused_running = true;
  rule.unused_timer->start(rule.unused_ms);
}

void QueueProcess::look_at_use() {
  Rules& rule = *rules_;
  rule.unused_running = false;
  if (going_ || consumers_.count() > 0) return;  // the last one's end is the next use
  const std::uint64_t unused = now_ms() - rule.last_used_ms;
  if (unused >= rule.unused_ms) {
    remove_self();
    return;
  }
  rule.unused_running = true;
  rule.unused_timer->start(rule.unused_ms - unused);
}

}  // namespace ringtail::queue
