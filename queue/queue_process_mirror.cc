// A queue whose changes go round a ring (queue/mirror/): what its mirrors' actor asks of it.
#include <algorithm>
#include <array>
#include <utility>

#include "broker/runtime/check.h"
#include "queue/queue_process.h"

namespace ringtail::queue {

using runtime::Address;

void QueueProcess::set_ring(MasterRing* ring) {
  if ((ring_ == nullptr) == (ring == nullptr)) return;
  ring_ = ring;
  if (ring_ == nullptr) {
    shard_.add(address_.actor, *this);
  } else {
    shard_.remove(address_.actor);
  }
}

// --- taking over, and giving up -----------------------------------------------------------------

void QueueProcess::take_over(Contents& contents, std::uint64_t delivered) {
  state_.restore_next(contents.next());
  contents.drain([&](KeptMessage& one) {
    if (one.terms.expires()) rules();
    const bool redelivered = store::number_of(one.position) <= delivered;
    state_.restore(std::move(one.message), one.position, one.terms, redelivered);
  });
  store_ = contents.take_store();
  if (store_ == nullptr) return;
  store::StoreOwner& owner = *this;
  store_->set_owner(owner);
  if (backing_ == nullptr) backing_ = std::make_unique<Backing>();
  if (!store_->failure().ok()) note_damage(store_->failure());
}

bool QueueProcess::give_up(Contents& contents) {
  if (state_.paged() > 0 || is_unreadable()) return false;
  std::vector<KeptMessage> all;
  all.reserve(state_.ready() + unacked_.count());
  visit_above(0, [&](const Entry& entry, Terms terms, Whereabouts) {
    all.push_back({entry.message(), entry.position(), terms});
    return true;
  });
  const auto earlier = [](const KeptMessage& left, const KeptMessage& right) {
    return store::number_of(left.position) < store::number_of(right.position);
  };
  std::sort(all.begin(), all.end(), earlier);
  for (KeptMessage& one : all) contents.insert(std::move(one));
  contents.set_next(state_.next_number());
  contents.set_store(std::move(store_), state_.next_number() - 1);
  if (backing_ != nullptr && std::exchange(backing_->has_backlog, false)) stores_->backlog_ended();
  backing_.reset();
  return true;
}

// --- publishing ---------------------------------------------------------------------------------

bool QueueProcess::would_refuse(const Message& message, std::uint64_t held,
                                std::uint64_t held_bytes) {
  if (keeps_ && backing_ != nullptr && !backing_->damage.ok()) return true;
  if (rules_ == nullptr || !rules_->refuses) return false;
  return state_.ready() + held + 1 > rules_->max_length ||
         state_.ready_bytes() + held_bytes + message.body_size() > rules_->max_bytes;
}

void QueueProcess::refuse_publish(const Address& channel, std::uint64_t number,
                                  MessageRef message) {
  ChannelLink& link = link_of(channel);
  link.rejected.push_back(number);
  if (message && rules_ != nullptr &&
      rules_->options.overflow == cluster::metadata::Overflow::kRejectPublishDlx) {
    dead_letter(DeathReason::kMaxLength, std::move(message));
  }
}

Terms QueueProcess::terms_now(const Message& message) {
  if (rules_ == nullptr && message.traits().expiration_ms == kNoExpiration) return {};
  rules();
  return terms_of(message);
}

void QueueProcess::expect_from(const Address& channel) { link_of(channel); }

void QueueProcess::publish_committed(std::vector<MessageRef>& messages,
                                     std::span<const Terms> terms) {
  if (going_) {
    // Nobody gets it, but it has its number, as everywhere.
    for (MessageRef& message : messages) state_.push(std::move(message), Terms(), 0);
    return;
  }
  statistics_.published += messages.size();
  if (!terms.empty()) rules();
  if (rules_ != nullptr) {
    rules_->drops_left += messages.size();
    drop_by_rules();
  }
  for (std::size_t at = 0; at < messages.size(); ++at) {
    enqueue(std::move(messages[at]), terms.empty() ? Terms() : terms[at]);
  }
  dispatch();
  shard_.flush_batches_at_turn_end(*this);
}

store::JournalPosition QueueProcess::take_published() {
  if (store_ == nullptr) return 0;
  store_->end_publish();
  const store::JournalPosition position = store_->take_published();
  if (position != 0) store_->await();
  return position;
}

void QueueProcess::settle(const Address& channel, std::uint64_t up_to) {
  ChannelLink* link = find_link(channel);
  if (link == nullptr || up_to <= link->settled) return;
  link->settled = up_to;
  link->settled_due = true;
  mark_unflushed(*link);
}

// --- the ring -----------------------------------------------------------------------------------

Qid QueueProcess::stored_qid() const {
  return ring_ == nullptr ? qid_ : stored_as(*record_, ring_->joined()).qid;
}

void QueueProcess::gone_from_ring(const Entry& entry) {
  ring_->removed(store::number_of(entry.position()));
}

void QueueProcess::purge_ring() {
  std::vector<std::uint64_t> kept;
  unacked_.for_each(
      [&](const Entry& entry, Terms) { kept.push_back(store::number_of(entry.position())); });
  ring_->purged(last_number(), std::move(kept));
}

void QueueProcess::may_go_on() {
  dispatch();
  serve_gets();
  shard_.flush_batches_at_turn_end(*this);
}

bool QueueProcess::keep_in_memory(bool keep) {
  if (keep != keep_in_memory_) {
    keep_in_memory_ = keep;
    shard_.flush_batches_at_turn_end(*this);
  }
  return state_.paged() == 0;
}

std::uint64_t QueueProcess::visit_alive(
    std::uint64_t above, std::size_t octets,
    const std::function<void(const Entry&, Terms)>& visit) const {
  std::uint64_t up_to = last_number();
  std::array<std::size_t, 256> of_lane{};
  std::vector<std::pair<Entry, Terms>> found;
  visit_above(above, [&](const Entry& entry, Terms terms, Whereabouts where) {
    found.emplace_back(Entry(entry.message(), entry.position()), terms);
    if (where != Whereabouts::kWaiting) return true;
    std::size_t& bytes = of_lane[store::lane_of(entry.position())];
    bytes += entry.message()->footprint();
    if (bytes < octets) return true;
    up_to = std::min(up_to, store::number_of(entry.position()));
    return false;
  });
  std::sort(found.begin(), found.end(), [](const auto& left, const auto& right) {
    return store::number_of(left.first.position()) < store::number_of(right.first.position());
  });
  for (const auto& [entry, terms] : found) {
    if (store::number_of(entry.position()) <= up_to) visit(entry, terms);
  }
  return up_to;
}

}  // namespace ringtail::queue
