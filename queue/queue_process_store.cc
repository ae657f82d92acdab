// A queue and its store: what is kept on the disk, when publishes are settled, and how a backlog
// leaves memory and comes back.
#include <algorithm>
#include <limits>
#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/log.h"
#include "queue/queue_process.h"

namespace ringtail::queue {

using runtime::Status;
using store::QueueStore;

namespace {

// What a message costs beside its body.
constexpr std::uint64_t kMessageOverhead = 160;
}  // namespace

// --- keeping ------------------------------------------------------------------------------------

QueueStore& QueueProcess::make_store() {
  if (store_ == nullptr) {
    store::StoreOwner& owner = *this;
    store_ = ring_ == nullptr ? std::make_unique<QueueStore>(*stores_, *record_, owner)
                              : std::make_unique<QueueStore>(
                                    *stores_, stored_as(*record_, ring_->joined()), owner);
    if (backing_ == nullptr) backing_ = std::make_unique<Backing>();
  }
  return *store_;
}

void QueueProcess::keep(const Message& message, std::uint8_t priority, Terms terms,
                        bool delivered) {
  make_store().publish(state_.next_position(priority), message, terms, delivered);
}

std::size_t QueueProcess::publish_kept(std::vector<MessageRef>& messages) {
  std::size_t at = 0;
  for (; at < messages.size(); ++at) {
    MessageRef& message = messages[at];
    if (message->traits().expiration_ms != kNoExpiration) return at;
    if (state_.ready() == 0) {
      if (Consumer* consumer = consumers_.next()) {
        // Who does not acknowledge gets it before the disk does.
        const bool kept = is_kept(*message) && !consumer->no_ack();
        if (kept) keep(*message, 0, Terms(), true);
        deliver(*consumer, state_.pass(std::move(message)), Terms(), kept);
        continue;
      }
    }
    if (is_kept(*message)) keep(*message, 0, Terms(), false);
    state_.push(std::move(message));
  }
  return at;
}

void QueueProcess::settle_publishes(ChannelLink& link, std::uint64_t up_to) {
  mark_unflushed(link);
  if (store_ != nullptr) {
    store_->end_publish();
    store::JournalPosition position = store_->take_published();
    std::deque<Backing::Unkept>& unkept = backing_->unkept;
    std::uint64_t written = 0;
    if (backing_->has_backlog && state_.ready() > 0) {
      const std::uint64_t each = state_.ready_bytes() / state_.ready() + kMessageOverhead;
      const std::uint64_t ahead = std::clamp<std::uint64_t>(
          stores_->options().unwritten_bytes / each, stores_->options().head_messages_min,
          stores_->options().unwritten_messages);
      if (last_number() > ahead) written = last_number() - ahead;
      if (written <= store_->written()) written = 0;
    }
    if (position != 0 || written != 0 || !unkept.empty()) {
      if (position == 0 && !unkept.empty()) position = unkept.back().position;
      unkept.push_back({position, written, link.address, up_to});
      if (position != 0) store_->await();
      return;
    }
  }
  link.settled = up_to;
  link.settled_due = true;
}

void QueueProcess::settle_kept() {
  const store::JournalPosition kept = store_->kept();
  std::deque<Backing::Unkept>& unkept = backing_->unkept;
  // A backlog that consumers have taken meanwhile is never written, and nobody waits for that.
  const std::uint64_t written = state_.has_tail() ? store_->written() : last_number();
  while (!unkept.empty() && unkept.front().position <= kept && unkept.front().written <= written) {
    const Backing::Unkept& first = unkept.front();
    if (ChannelLink* link = find_link(first.channel)) {
      link->settled = first.up_to;
      link->settled_due = true;
      mark_unflushed(*link);
    }
    unkept.pop_front();
  }
  if (!unkept.empty() && unkept.front().position > kept) store_->await();
}

// The queue is gone: nobody waits any more.
void QueueProcess::settle_all() {
  for (const Backing::Unkept& one : std::exchange(backing_->unkept, {})) {
    if (ChannelLink* link = find_link(one.channel)) {
      link->settled = one.up_to;
      link->settled_due = true;
    }
  }
}

// None of what waits will be kept: whoever published it hears that.
void QueueProcess::refuse_unkept() {
  for (const Backing::Unkept& one : std::exchange(backing_->unkept, {})) {
    ChannelLink* link = find_link(one.channel);
    if (link == nullptr) continue;
    std::vector<std::uint64_t>& rejected = link->rejected;
    for (std::uint64_t number = link->settled + 1; number <= one.up_to; ++number) {
      rejected.push_back(number);
    }
    std::sort(rejected.begin(), rejected.end());
    rejected.erase(std::unique(rejected.begin(), rejected.end()), rejected.end());
    link->settled = one.up_to;
    link->settled_due = true;
    mark_unflushed(*link);
  }
}

bool QueueProcess::refuses_for_damage(const Publish& letter, ChannelLink& link) {
  if (backing_ == nullptr || backing_->damage.ok()) return false;
  const auto persistent = [](const MessageRef& message) { return message->traits().persistent; };
  if (store_ != nullptr &&
      std::none_of(letter.messages.begin(), letter.messages.end(), persistent)) {
    return false;
  }
  for (std::size_t at = 0; at < letter.messages.size(); ++at) {
    link.rejected.push_back(letter.first_number + at);
  }
  return true;
}

void QueueProcess::gone_from_store(const Entry& entry, Terms terms) {
  store_->removed(entry.position(), *entry.message(), terms);
  shard_.flush_batches_at_turn_end(*this);
}

void QueueProcess::purge_store() {
  std::vector<store::SegmentTable::Kept> kept;
  unacked_.for_each([&](const Entry& entry, Terms terms) {
    kept.push_back(
        {entry.position(),
         {entry.message()->body_size(), entry.message()->traits().persistent, terms.expires()}});
  });
  store_->purged(last_number(), state_.lanes(), std::move(kept));
  look_at_backlog();
}

// --- handing out --------------------------------------------------------------------------------

bool QueueProcess::ready_to_hand_out() {
  if ((store_ == nullptr && ring_ == nullptr) || state_.ready() == 0) [[likely]]
    return true;
  if (!state_.can_take()) return false;
  const Entry& first = state_.front();
  if (ring_ != nullptr && !ring_->may_deliver(store::number_of(first.position()))) return false;
  if (store_ == nullptr) return true;
  // One that is marked already, too: a mark that a start read is not on the disk for certain, when
  // its sync had failed in the run before.
  return !is_kept(*first.message()) || store_->may_deliver(first.position());
}

void QueueProcess::store_kept() noexcept {
  settle_kept();
  if (ring_ != nullptr) ring_->disk_kept();
  dispatch();
  serve_gets();
}

void QueueProcess::store_moved() noexcept {
  settle_kept();
  shard_.flush_batches_at_turn_end(*this);
}

void QueueProcess::store_loaded(std::uint8_t,
                                std::vector<store::StoredMessage>& messages) noexcept {
  for (store::StoredMessage& one : messages) {
    const Terms terms = one.expires_at_ms == kNoExpiration
                            ? Terms()
                            : Terms::expiring_at(stores_->monotonic_of(one.expires_at_ms));
    state_.page_in(std::move(one.message), one.position, terms, one.delivered);
  }
  dispatch();
  serve_gets();
  shard_.flush_batches_at_turn_end(*this);
}

void QueueProcess::store_failed(const Status& why) noexcept {
  if (why.code() == runtime::Code::kCorrupt) return make_unreadable(why);
  note_damage(why);
  refuse_unkept();
  dispatch();
}

void QueueProcess::note_damage(const Status& why) {
  if (!backing_->damage.ok()) return;
  runtime::log(runtime::LogLevel::kError, "storage",
               "queue '{}' in vhost '{}' takes no more persistent messages: {}", record_->name,
               record_->vhost, why.text());
  backing_->damage = why;
}

void QueueProcess::make_unreadable(const Status& why) {
  note_damage(why);
  backing_->unreadable = true;
  refuse_unkept();
  end_use();
}

// Nothing comes out of it any more: who waits is told.
void QueueProcess::end_use() {
  refuse_gets();
  for (auto& [address, link] : links_) {
    flush(link);
    for (auto at = link.consumers.begin(); at != link.consumers.end();) {
      Consumer& consumer = *at->second;
      const bool cancelled = consumer.cancelled();
      if (!cancelled) {
        auto notice = std::make_unique<Cancelled>(qid_);
        notice->consumer = at->first;
        shard_.post(address_, address, std::move(notice));
        consumers_.remove(consumer);
      }
      at = !cancelled && consumer.unacked() == 0 ? link.consumers.erase(at) : std::next(at);
    }
  }
  watch_use();
}

Status QueueProcess::damage() const { return backing_ == nullptr ? Status() : backing_->damage; }

// --- paging -------------------------------------------------------------------------------------

// How many messages of a backlog stay in memory before it.
std::size_t QueueProcess::head_limit() const {
  if (keep_in_memory_) return std::numeric_limits<std::uint32_t>::max();
  const std::uint64_t each = state_.ready_bytes() / state_.ready() + kMessageOverhead;
  return std::clamp<std::size_t>(stores_->head_budget() / each,
                                 stores_->options().head_messages_min,
                                 stores_->options().head_messages_max);
}

void QueueProcess::look_at_backlog() {
  if (backing_ != nullptr && std::exchange(backing_->idle, false) && state_.ready() == 0) {
    store_.reset();  // most queues that a restart finds have nothing
    backing_.reset();
    return;
  }
  if (state_.ready() > 2 * stores_->options().head_messages_min) {
    if (store_ == nullptr && !keeps_ && stores_->memory_is_short() && !going_) make_store();
    if (store_ != nullptr && store_->failure().ok()) {
      const std::size_t keep = head_limit();
      for (std::size_t lane = 0; lane < state_.lanes(); ++lane) {
        page_lane(static_cast<std::uint8_t>(lane), keep);
      }
    }
  } else if (state_.paged() > 0 && store_->failure().ok()) {
    for (std::size_t lane = 0; lane < state_.lanes(); ++lane) {
      page_lane(static_cast<std::uint8_t>(lane), stores_->options().head_messages_min);
    }
  }
  if (backing_ == nullptr) return;
  const bool backlog = state_.has_tail();
  if (backlog == backing_->has_backlog) return;
  backing_->has_backlog = backlog;
  if (backlog) {
    stores_->backlog_began();
  } else {
    stores_->backlog_ended();
    settle_kept();
  }
}

void QueueProcess::page_lane(std::uint8_t lane, std::size_t keep) {
  if (state_.paged(lane) == 0 && state_.tail_size(lane) == 0) {
    if (state_.head_size(lane) <= 2 * keep) return;
    state_.begin_tail(lane, keep);
  }
  if (state_.tail_size(lane) > 0) {
    const std::uint64_t each = state_.ready_bytes() / state_.ready() + kMessageOverhead;
    const std::uint64_t unwritten = last_number() - std::min(last_number(), store_->written());
    if (!store_->writing() && (unwritten >= stores_->options().write_messages ||
                               unwritten * each >= stores_->options().write_bytes)) {
      store_->write_some();
    }
    const bool first = state_.paged(lane) == 0;
    EntryFifo out = state_.page_out(lane, store_->written(), stores_->options().paged_out_messages);
    if (first && !out.empty()) store_->paged_from(out.front().position());
    if (out.size() == stores_->options().paged_out_messages)
      shard_.flush_batches_at_turn_end(*this);
    discard_.add(std::move(out));
  }
  if (state_.paged(lane) > 0 && state_.head_size(lane) <= keep / 2 && !store_->loading(lane)) {
    store_->load(lane, stores_->options().load_bytes, state_.paged(lane));
  }
}

void QueueProcess::visit_above(std::uint64_t above, const Visit& visit) const {
  state_.visit_above(above, visit);
  unacked_.for_each([&](const Entry& entry, Terms terms) {
    if (store::number_of(entry.position()) > above) {
      visit(entry, terms, Whereabouts::kHandedOut);
    }
  });
}

// --- a restart ----------------------------------------------------------------------------------

void QueueProcess::restore(store::JournaledQueue journaled,
                           std::function<void(const Status&)> done) {
  make_store().restore(std::move(journaled),
                       [this, done = std::move(done)](QueueStore::Restored& restored) {
                         take_restored(restored);
                         done(restored.damage);
                       });
}

void QueueProcess::take_restored(QueueStore::Restored& restored) {
  state_.restore_next(restored.next);
  if (!restored.damage.ok()) {
    make_unreadable(restored.damage);
    return;
  }
  for (const auto& [lane, found] : restored.lanes) {
    state_.restore_paged(lane, found.count, found.bytes, found.expiring);
  }
  for (store::StoredMessage& one : restored.messages) {
    const Terms terms = one.expires_at_ms == kNoExpiration
                            ? Terms()
                            : Terms::expiring_at(stores_->monotonic_of(one.expires_at_ms));
    if (terms.expires()) rules();
    state_.restore(std::move(one.message), one.position, terms, one.delivered);
  }
  if (state_.ready_expiring() > 0) rules();
  backing_->idle = state_.ready() == 0 && store_->empty();
  dispatch();
  shard_.flush_batches_at_turn_end(*this);
}

void QueueProcess::serve() {
  held_ = false;
  for (runtime::LetterPtr& letter : std::exchange(early_, {})) receive(std::move(letter));
  dispatch();
  serve_gets();
  shard_.flush_batches_at_turn_end(*this);
}

void QueueProcess::leave_former_journals(std::function<void()> done) {
  if (store_ == nullptr) {
    done();
  } else {
    store_->leave_former_journals(std::move(done));
  }
}

}  // namespace ringtail::queue
