// A mirrored queue's changes: on their way into the ring, and out of it.
#include <algorithm>
#include <limits>
#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/log.h"
#include "queue/mirror/mirrored_queue.h"

namespace ringtail::queue {

using runtime::Address;
using runtime::letter_cast;
using runtime::LetterPtr;

namespace {

// An entry of a turn that has more is followed by another one.
constexpr std::size_t kBatchOctets = 512U << 10;
// How far ahead of what was published, or asked for, deliveries are announced (MR5).
constexpr std::uint64_t kMarkStep = 1024;

}  // namespace

Producer MirroredQueue::producer_of(const Address& channel) const {
  const auto record = services_.view.node(channel.node);
  return {channel, record == nullptr ? 0 : record->life};
}

// Nobody has to be asked, and nothing is under way to anybody.
bool MirroredQueue::is_alone() const {
  return record_->view->members.size() == 1 && record_->view->led() && pending_.empty() &&
         settling_.empty() && writer_.empty();
}

// --- publishing ---------------------------------------------------------------------------------

// MR3. What is missing before it was settled elsewhere, or refused by its channel.
void MirroredQueue::take_publish(LetterPtr letter) {
  auto& publish = letter_cast<Publish>(*letter);
  if (publish.messages.empty()) return;
  const Producer producer = producer_of(publish.from);
  const Producers::State& known = producers_.at(producer);
  const std::size_t skip = take_repeats(publish, known);
  if (skip == publish.messages.size()) return ask_turn();
  if (!is_alone()) {
    take_new(publish, producer, skip);
    return ask_turn();
  }
  publish.messages.erase(publish.messages.begin(),
                         publish.messages.begin() + static_cast<std::ptrdiff_t>(skip));
  publish.first_number += skip;
  producers_.applied(producer, publish.first_number + publish.messages.size() - 1);
  process_->receive(std::move(letter));
}

// How many of its messages came before. They are settled with what has come since.
std::size_t MirroredQueue::take_repeats(const Publish& letter, const Producers::State& known) {
  if (letter.first_number > known.taken) return 0;
  const auto repeats = static_cast<std::size_t>(
      std::min<std::uint64_t>(letter.messages.size(), known.taken - letter.first_number + 1));
  process_->expect_from(letter.from);
  const std::uint64_t up_to = letter.first_number + repeats - 1;
  for (const std::uint64_t number : known.refused) {
    if (number >= letter.first_number && number <= up_to) {
      process_->refuse_publish(letter.from, number, {});
    }
  }
  Settling& settling = settling_.emplace_back();
  settling.entry = member_->log().last().number + (writer_.empty() ? 0 : 1);
  settling.kept = true;
  settling.channel = letter.from;
  settling.up_to = up_to;
  return repeats;
}

void MirroredQueue::take_new(Publish& letter, const Producer& producer, std::size_t skip) {
  process_->expect_from(letter.from);
  Published change;
  change.producer = producer;
  change.first = letter.first_number + skip;
  change.up_to = letter.first_number + letter.messages.size() - 1;
  Pending& pending = pending_.emplace_back();
  pending.channel = letter.from;
  pending.producer = producer;
  pending.up_to = change.up_to;
  change.messages.reserve(letter.messages.size() - skip);
  pending.messages.reserve(letter.messages.size() - skip);
  for (std::size_t at = skip; at < letter.messages.size(); ++at) {
    MessageRef& message = letter.messages[at];
    if (process_->would_refuse(*message, pending_messages_, pending_bytes_)) {
      change.refused.push_back(letter.first_number + at);
      process_->refuse_publish(letter.from, letter.first_number + at, std::move(message));
      continue;
    }
    const Terms terms = process_->terms_now(*message);
    if (terms.expires() && pending.terms.empty()) pending.terms.resize(pending.messages.size());
    if (!pending.terms.empty() || terms.expires()) pending.terms.push_back(terms);
    ++pending_messages_;
    pending.bytes += message->body_size();
    pending_bytes_ += message->body_size();
    pending.persistent |= message->traits().persistent;
    const bool expires = terms.expires() && services_.stores != nullptr;
    change.messages.push_back(
        {message, expires ? services_.stores->wall_of(terms.expires_at_ms()) : kNoExpiration});
    pending.messages.push_back(std::move(message));
  }
  writer_.publish(change);
  producers_.took(change);
  if (writer_.size() > kBatchOctets) flush_batch();
}

// The gathered changes become an entry of the log.
void MirroredQueue::flush_batch() {
  if (writer_.empty() && !mark_due_) return;
  const std::uint64_t next = process_->next_number() + in_log_messages_;
  std::uint64_t messages = 0;
  for (auto one = pending_.rbegin(); one != pending_.rend() && one->entry == 0; ++one) {
    messages += one->messages.size();
  }
  // Who consumes gets what is published here as soon as it is committed.
  if (process_->has_consumers()) {
    wanted_mark_ = std::max(wanted_mark_, next + messages + kMarkStep);
  }
  const gm::Number entry = member_->append(writer_.finish(next, wanted_mark_)).number;
  for (auto one = pending_.rbegin(); one != pending_.rend() && one->entry == 0; ++one) {
    one->entry = entry;
  }
  in_log_messages_ += messages;
  marks_.push_back({entry, wanted_mark_});
  mark_due_ = false;
}

// --- what is committed --------------------------------------------------------------------------

void MirroredQueue::committed(gm::Number up_to) {
  while (applied_ < up_to && !broken_) {
    ++applied_;
    if (process_ != nullptr) {
      apply_own(applied_);
    } else {
      apply_entry(applied_);
    }
  }
  ask_turn();
}

// MR1
void MirroredQueue::apply_own(gm::Number entry) {
  bool moved = false;
  while (!marks_.empty() && marks_.front().entry <= entry) {
    moved |= marks_.front().number > mark_;
    mark_ = std::max(mark_, marks_.front().number);
    marks_.pop_front();
  }
  while (!pending_.empty() && pending_.front().entry != 0 && pending_.front().entry <= entry) {
    Pending one = std::move(pending_.front());
    pending_.pop_front();
    in_log_messages_ -= one.messages.size();
    pending_messages_ -= one.messages.size();
    pending_bytes_ -= one.bytes;
    process_->publish_committed(one.messages, one.terms);
    // It may have gone meanwhile.
    if (producers_.find(one.producer) != nullptr) producers_.applied(one.producer, one.up_to);
    settling_.push_back({entry, one.persistent && record_->durable, one.channel, one.up_to});
  }
  if (const store::JournalPosition position = process_->take_published(); position != 0) {
    unstored_.push_back({position, entry});
  }
  if (moved) process_->may_go_on();
}

void MirroredQueue::apply_entry(gm::Number number) {
  const gm::Entry* entry = member_->log().find(number);
  RT_CHECK(entry != nullptr, "an entry that is to be applied is not there");
  if (entry->begins_epoch) return;
  if (!read_changes(*entry, *this)) {
    runtime::log(runtime::LogLevel::kError, "mirror",
                 "queue '{}' in vhost '{}': entry {} of the ring breaks a rule of its format; this "
                 "mirror joins anew",
                 record_->name, record_->vhost, number);
    diverged(entry->at);
    return;
  }
  if (const store::JournalPosition position = contents_->take_published(); position != 0) {
    unstored_.push_back({position, number});
  }
}

void MirroredQueue::begins(std::uint64_t next, std::uint64_t mark) {
  if (mark > mark_) {
    mark_ = mark;
    if (!joins()) contents_->note_delivered(mark);
  }
  if (contents_->next() == 0) contents_->set_next(next);
  if (contents_->next() == next) return;
  runtime::log(runtime::LogLevel::kError, "mirror",
               "queue '{}' in vhost '{}': the next message is {} here and {} at the master",
               record_->name, record_->vhost, contents_->next(), next);
  ask_to_join_anew();
}

void MirroredQueue::published(Published& published) {
  producers_.took(published);
  producers_.applied(published.producer, published.up_to);
  const bool in_order = !joins() || joining_.synced;
  for (PublishedMessage& one : published.messages) contents_->push(std::move(one), in_order);
}

void MirroredQueue::removed(NumberRange numbers) {
  contents_->remove(numbers, joins() && !joining_.synced);
}

void MirroredQueue::purged(std::uint64_t up_to, const std::vector<std::uint64_t>& kept) {
  contents_->purge(up_to, kept, joins() && !joining_.synced);
}

void MirroredQueue::producer_gone(const Producer& producer) { producers_.forget(producer); }

// --- what is on the disks -----------------------------------------------------------------------

void MirroredQueue::note_stored() {
  if (contents_ != nullptr && !contents_->failure().ok()) return;
  const store::JournalPosition kept =
      process_ != nullptr ? process_->disk_position() : contents_->kept();
  while (!unstored_.empty() && unstored_.front().position <= kept) unstored_.pop_front();
  const gm::Number stored = unstored_.empty() ? applied_ : unstored_.front().entry - 1;
  if (stored > stored_) member_->stored(stored_ = std::min(stored, member_->committed()));
}

void MirroredQueue::kept(gm::Number up_to) {
  kept_ = up_to;
  ask_turn();
}

// MR2
void MirroredQueue::settle() {
  while (!settling_.empty()) {
    const Settling& first = settling_.front();
    if (first.entry > member_->committed() || (first.kept && first.entry > kept_)) return;
    process_->settle(first.channel, first.up_to);
    settling_.pop_front();
  }
}

// --- the master's process -----------------------------------------------------------------------

void MirroredQueue::removed(std::uint64_t number) {
  if (record_->view->members.size() == 1) return;
  writer_.remove(number);
  ask_turn();
}

void MirroredQueue::purged(std::uint64_t up_to, std::vector<std::uint64_t> kept) {
  if (record_->view->members.size() == 1) return;
  std::sort(kept.begin(), kept.end());
  writer_.purge(up_to, kept);
  ask_turn();
}

// MR5
bool MirroredQueue::may_deliver(std::uint64_t number) {
  if (record_->view->members.size() == 1) {
    wanted_mark_ = std::max(wanted_mark_, number);
    return true;
  }
  // Early enough that nobody waits.
  if (number + kMarkStep / 2 > wanted_mark_) {
    wanted_mark_ = number + kMarkStep;
    mark_due_ = true;
    ask_turn();
  }
  return number <= mark_;
}

}  // namespace ringtail::queue
