// A mirror that joins, and its donor.
#include <algorithm>
#include <memory>
#include <utility>

#include "broker/runtime/log.h"
#include "queue/mirror/mirrored_queue.h"

namespace ringtail::queue {

namespace {

constexpr std::size_t kPortionOctets = 256U << 10;

}  // namespace

// --- the one that joins -------------------------------------------------------------------------

// Everything behind `base` comes round the ring. What was here may lack what has left since.
void MirroredQueue::restarted(const gm::Position& base) {
  contents_->erase();
  make_contents();
  contents_->set_next(0);
  producers_.clear();
  unstored_.clear();
  joining_ = {};
  applied_ = stored_ = base.number;
  ask_turn();
}

// MR7
void MirroredQueue::go_on_joining() {
  if (!joins() || member_->complete()) return;
  // It asks when it is sure of all that is new.
  if (!joining_.asked && member_->matched()) return ask_for_older();
  if (!joining_.fetched) return;
  if (contents_->next() == 0 && applied_ >= joining_.entry) contents_->set_next(joining_.next);
  if (contents_->next() < joining_.next) return;  // the ring is still bringing some of it
  if (!joining_.synced) {
    const bool more = contents_->store_some();
    joining_.position = std::max(joining_.position, contents_->take_published());
    if (more) return ask_turn();
    joining_.synced = true;
    contents_->completed();
    contents_->note_delivered(mark_);
  }
  if (contents_->kept() < joining_.position) return;
  runtime::log(runtime::LogLevel::kInfo, "mirror",
               "the mirror of queue '{}' in vhost '{}' has everything: {} messages", record_->name,
               record_->vhost, contents_->size());
  member_->completed();
  ask_turn();
}

void MirroredQueue::ask_for_older() {
  const gm::MemberId master = member_->view().members.front().id;
  const auto address = address_of(master);
  if (!address) return;
  auto question = std::make_unique<Missing>(record_->qid.value);
  question->sender = self_;
  question->receiver = master;
  question->epoch = member_->view().epoch;
  question->above = joining_.above;
  joining_.asked = true;
  joining_.asked_ms = now_ms();
  services_.shard.post(address_, *address, std::move(question));
}

void MirroredQueue::take_older(Older& letter) {
  if (process_ != nullptr || !joins() || letter.epoch != member_->view().epoch || !joining_.asked ||
      joining_.fetched || letter.above != joining_.above) {
    return;
  }
  for (Older::Message& one : letter.messages) {
    const Terms terms = one.expires_at_ms == kNoExpiration || services_.stores == nullptr
                            ? Terms()
                            : Terms::expiring_at(services_.stores->monotonic_of(one.expires_at_ms));
    contents_->insert({std::move(one.message), one.position, terms});
  }
  contents_->came_up_to(letter.up_to);
  joining_.position = std::max(joining_.position, contents_->take_published());
  joining_.above = letter.up_to;
  joining_.asked = false;
  if (!letter.last) return;
  for (const Older::Known& one : letter.producers) producers_.applied(one.producer, one.applied);
  mark_ = std::max(mark_, letter.mark);
  joining_.asked = joining_.fetched = true;
  joining_.next = letter.next;
  joining_.entry = letter.entry;
}

// --- the donor ----------------------------------------------------------------------------------

void MirroredQueue::give_older() {
  if (questions_.empty()) return;
  // What is on the disk alone comes to memory first; store_loaded() makes another turn.
  if (!serving_ || !process_->keep_in_memory(true)) return;
  for (const std::unique_ptr<Missing>& question : std::exchange(questions_, {})) {
    if (question->epoch == record_->view->epoch) give_older(*question);
  }
}

void MirroredQueue::give_older(const Missing& question) {
  const auto address = address_of(question.sender);
  if (!address) return;
  auto older = std::make_unique<Older>(record_->qid.value);
  older->sender = self_;
  older->receiver = question.sender;
  older->epoch = question.epoch;
  older->above = question.above;
  older->up_to =
      process_->visit_alive(question.above, kPortionOctets, [&](const Entry& entry, Terms terms) {
        const bool expires = terms.expires() && services_.stores != nullptr;
        older->messages.push_back(
            {entry.position(),
             expires ? services_.stores->wall_of(terms.expires_at_ms()) : kNoExpiration,
             entry.message()});
      });
  older->next = process_->next_number();
  older->last = older->up_to + 1 >= older->next;
  if (older->last) {
    older->entry = applied_;
    older->mark = std::max(mark_, wanted_mark_);
    for (const auto& [producer, state] : producers_.all()) {
      older->producers.push_back({producer, state.applied});
    }
  }
  services_.shard.post(address_, *address, std::move(older));
}

}  // namespace ringtail::queue
