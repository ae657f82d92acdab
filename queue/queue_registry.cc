#include "queue/queue_registry.h"

#include <algorithm>
#include <utility>

namespace ringtail::queue {

using cluster::metadata::QueueRecord;
using runtime::letter_cast;

namespace {

// Each takes some ten microseconds.
constexpr int kDirectoriesPerTurn = 4;

// What a queue that is gone answers; null where nothing is owed.
template <typename AnswerLetter, typename Request>
runtime::LetterPtr not_found(const runtime::Letter& letter) {
  const auto& request = static_cast<const Request&>(letter);
  auto reply = std::make_unique<AnswerLetter>(request.qid);
  reply->request = request.request;
  if constexpr (requires { reply->consumer = request.consumer; }) {
    reply->consumer = request.consumer;
  }
  if constexpr (requires { reply->answer = Answer::kNotFound; }) {
    reply->answer = Answer::kNotFound;
  }
  return reply;
}

runtime::LetterPtr answer_of_missing(const runtime::Letter& letter) {
  switch (static_cast<QueueLetterKind>(letter.kind)) {
    case kPublish: {
      const auto& publish = static_cast<const Publish&>(letter);
      auto settled = std::make_unique<Settled>(publish.qid);
      settled->up_to = publish.first_number + publish.messages.size() - 1;
      return settled;
    }
    case kConsume:
      return not_found<ConsumeOk, Consume>(letter);
    case kCancel:
      return not_found<CancelOk, Cancel>(letter);
    case kGet:
      return not_found<GetResult, Get>(letter);
    case kPurge:
      return not_found<Purged, Purge>(letter);
    case kInspect:
      return not_found<Inspected, Inspect>(letter);
    case kDelete:
      return not_found<DeleteResult, Delete>(letter);
    case kAck:
    case kRequeue:
    case kCredit:
    case kChannelGone:
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
  return nullptr;
}

}  // namespace

QueueRegistry::QueueRegistry(runtime::Shard& shard, cluster::metadata::View& view,
                             RemoveQueue proposer, DeadLetterSink& dead_letters,
                             store::StoreShard* stores, ProposeView propose_view)
    : shard_(shard),
      view_(view),
      removals_(shard, std::move(proposer)),
      discard_(shard),
      dead_letters_(dead_letters),
      stores_(stores),
      mirror_services_{
          shard, view, removals_, discard_, dead_letters, stores, std::move(propose_view)} {
  if (!mirror_services_.propose) mirror_services_.propose = [](const auto&, const auto&) {};
  view.add_observer(*this);
  shard_.set_fallback(this);
}

QueueRegistry::~QueueRegistry() { shard_.set_fallback(nullptr); }

QueueProcess* QueueRegistry::find(Qid qid) {
  const auto at = queues_.find(qid);
  if (at != queues_.end()) return at->second.get();
  const auto mirrored = mirrored_.find(qid);
  return mirrored == mirrored_.end() ? nullptr : mirrored->second->process();
}

Qid QueueRegistry::visit_some(Qid after, std::size_t limit,
                              const std::function<void(QueueProcess&)>& visit) {
  auto plain = queues_.upper_bound(after);
  auto mirrored = mirrored_.upper_bound(after);
  Qid last{0};
  for (; limit > 0 && (plain != queues_.end() || mirrored != mirrored_.end()); --limit) {
    if (mirrored == mirrored_.end() || (plain != queues_.end() && plain->first < mirrored->first)) {
      visit(*plain->second);
      last = (plain++)->first;
    } else {
      if (QueueProcess* process = mirrored->second->process()) visit(*process);
      last = (mirrored++)->first;
    }
  }
  return plain == queues_.end() && mirrored == mirrored_.end() ? Qid{0} : last;
}

void QueueRegistry::serve() {
  for (auto& [qid, queue] : queues_) queue->serve();
  for (auto& [qid, queue] : mirrored_) queue->serve();
}

void QueueRegistry::peer_down(runtime::NodeId peer) {
  for (auto& [qid, queue] : queues_) queue->peer_down(peer);
  for (auto& [qid, queue] : mirrored_) queue->peer_down(peer);
  for (auto& [qid, letters] : early_) {
    std::erase_if(letters, [peer](const auto& letter) { return letter->from.node == peer; });
  }
  removals_.peer_down(peer);
}

// Letters of any kind come here: only those to queues are more than Letters.
void QueueRegistry::receive(runtime::LetterPtr letter) noexcept {
  if (letter->kind >= kPublish && letter->kind <= kChannelGone) {
    const Qid to = static_cast<const QueueLetter&>(*letter).qid;
    if (to >= view_.next_qid()) return early_[to].push_back(std::move(letter));
  }
  // It has a copy elsewhere, or will have one here again: its master is another one than the sender
  // knows, who will hear of that.
  if (letter->kind >= kPublish && letter->kind < kChannelGone &&
      elsewhere_.contains(static_cast<const QueueLetter&>(*letter).qid)) {
    return;
  }
  if (letter->kind == kChannelGone) {
    const auto& gone = letter_cast<ChannelGone>(*letter);
    if (!gone.wants_notice) return;
    auto notice = std::make_unique<ChannelForgotten>(gone.qid);
    notice->request = gone.request;
    shard_.post(address_of(gone.qid), gone.notify, std::move(notice));
    return;
  }
  runtime::LetterPtr answer = answer_of_missing(*letter);
  if (answer == nullptr) return;
  const Qid qid = static_cast<const QueueLetter&>(*letter).qid;
  shard_.post(address_of(qid), letter->from, std::move(answer));
}

runtime::Address QueueRegistry::address_of(Qid qid) const {
  return {shard_.node(), shard_.id(), runtime::ActorId{qid.value}};
}

std::optional<gm::MemberId> QueueRegistry::own_member(const QueueRecord& record) const {
  const auto self = view_.node(shard_.node());
  if (self == nullptr || !self->up) return std::nullopt;
  for (const auto& member : record.view->members) {
    if (member.node != shard_.node() || member.shard != shard_.id()) continue;
    if (!member.ended && member.life == self->life) {
      return gm::MemberId{member.node, member.life, member.joined};
    }
  }
  return std::nullopt;
}

// A start: this node had a whole copy when its life ended, which may be all that there is.
void QueueRegistry::mirror_dormant(const RecordPtr& record) {
  const bool starting = stores_ != nullptr && stores_->starting() && record->durable;
  for (const auto& member : record->view->members) {
    if (!starting || member.node != shard_.node() || member.shard != shard_.id()) continue;
    const gm::MemberId self{member.node, member.life, member.joined};
    mirrored_.emplace(record->qid,
                      std::make_unique<MirroredQueue>(mirror_services_, record, self, nullptr,
                                                      MirroredQueue::Origin::kDormant));
    return;
  }
  elsewhere_.insert(record->qid);
}

// Makes this shard's copy of a mirrored queue what the record says.
void QueueRegistry::mirror(const RecordPtr& record) {
  const auto own = own_member(*record);
  const auto found = mirrored_.find(record->qid);
  if (found == mirrored_.end()) {
    if (!own) return mirror_dormant(record);
    elsewhere_.erase(record->qid);
    std::unique_ptr<QueueProcess> process;
    if (const auto plain = queues_.find(record->qid); plain != queues_.end()) {
      process = std::move(plain->second);
      queues_.erase(plain);
      process->changed(record);
    }
    mirrored_.emplace(record->qid, std::make_unique<MirroredQueue>(mirror_services_, record, *own,
                                                                   std::move(process)));
    return;
  }
  MirroredQueue& copy = *found->second;
  if (own) {
    if (copy.awaited() == *own) return copy.changed(record);
    return copy.renew(record, *own);
  }
  const auto self = view_.node(shard_.node());
  const bool named = std::any_of(
      record->view->members.begin(), record->view->members.end(),
      [this](const auto& member) { return member.node == shard_.node() && member.ended; });
  // It comes back in the node's next life.
  if (named || self == nullptr || !self->up) return copy.suspend(record);
  copy.leave();
  mirrored_.erase(found);
  elsewhere_.insert(record->qid);
}

void QueueRegistry::queue_added(const std::shared_ptr<const QueueRecord>& record) {
  if (record->view != nullptr) {
    mirror(record);
    return release(record->qid);
  }
  if (record->home != shard_.node() || record->shard != shard_.id()) return release(record->qid);
  queues_.emplace(record->qid, std::make_unique<QueueProcess>(shard_, record, removals_, discard_,
                                                              dead_letters_, stores_));
  release(record->qid);
  if (stores_ != nullptr && record->durable && !record->exclusive()) {
    without_directory_.push_back(record->qid);
    shard_.flush_batches_at_turn_end(*this);
  }
}

void QueueRegistry::release(Qid qid) {
  const auto found = early_.find(qid);
  if (found == early_.end()) return;
  std::vector<runtime::LetterPtr> letters = std::move(found->second);
  early_.erase(found);
  for (runtime::LetterPtr& letter : letters) {
    const runtime::Address from = letter->from;
    shard_.post(from, address_of(qid), std::move(letter));
  }
}

void QueueRegistry::state_restored() {
  while (!early_.empty() && early_.begin()->first < view_.next_qid()) {
    release(early_.begin()->first);
  }
}

void QueueRegistry::turn_end() noexcept {
  for (int made = 0; made < kDirectoriesPerTurn && !without_directory_.empty(); ++made) {
    if (QueueProcess* queue = find(without_directory_.front())) {
      const QueueRecord& record = queue->record();
      stores_->make_directory({record.qid, record.vhost, record.name});
    }
    without_directory_.pop_front();
  }
  if (!without_directory_.empty()) shard_.flush_batches_at_turn_end(*this);
}

void QueueRegistry::queue_changed(const std::shared_ptr<const QueueRecord>& record) {
  if (record->view != nullptr) return mirror(record);
  elsewhere_.erase(record->qid);
  if (const auto mirrored = mirrored_.find(record->qid); mirrored != mirrored_.end()) {
    std::unique_ptr<QueueProcess> process = mirrored->second->release();
    mirrored_.erase(mirrored);
    if (process == nullptr) return;
    process->set_ring(nullptr);
    queues_.emplace(record->qid, std::move(process));
  }
  if (QueueProcess* process = find(record->qid)) process->changed(record);
}

void QueueRegistry::queue_removed(const QueueRecord& record) {
  elsewhere_.erase(record.qid);
  if (const auto mirrored = mirrored_.find(record.qid); mirrored != mirrored_.end()) {
    mirrored->second->removed();
    mirrored_.erase(mirrored);
    return;
  }
  const auto at = queues_.find(record.qid);
  if (at == queues_.end()) return;
  at->second->removed();
  queues_.erase(at);
}

}  // namespace ringtail::queue
