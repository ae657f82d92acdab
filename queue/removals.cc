#include "queue/removals.h"

#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/limits.h"
#include "queue/letters.h"

namespace ringtail::queue {

using runtime::Qid;

Removals::Removals(runtime::Shard& shard, RemoveQueue remove_queue)
    : shard_(shard),
      remove_queue_(std::move(remove_queue)),
      late_(shard.env().timers().make([this] { look_for_late(); })) {}

void Removals::start(const std::shared_ptr<const cluster::metadata::QueueRecord>& record) {
  const Qid qid = record->qid;
  const bool first = owed_.try_emplace(qid).second;
  RT_CHECK(first, "a queue that is being removed already");
  remove_queue_(record, [this, qid] { done(qid); });
}

void Removals::owe(Qid qid, const runtime::Address& to, runtime::LetterPtr answer) {
  const auto at = owed_.find(qid);
  RT_CHECK(at != owed_.end(), "an answer that nobody will send");
  const std::uint64_t now = shard_.env().clock().monotonic_ms();
  at->second.answers.push_back({to, std::move(answer), now + runtime::kProposalTimeoutMs});
  if (late_runs_) return;
  late_runs_ = true;
  late_->start(runtime::kProposalTimeoutMs);
}

bool Removals::owe_notice(Qid qid, const runtime::Address& to, runtime::LetterPtr& notice) {
  const auto at = owed_.find(qid);
  if (at == owed_.end()) return false;
  at->second.notices.push_back({to, std::move(notice), 0});
  return true;
}

void Removals::peer_down(runtime::NodeId node) {
  const auto there = [node](const Owed& owed) { return owed.to.node == node; };
  for (auto& [qid, removal] : owed_) {
    std::erase_if(removal.notices, there);
    std::erase_if(removal.answers, there);
  }
}

void Removals::look_for_late() {
  const std::uint64_t now = shard_.env().clock().monotonic_ms();
  std::uint64_t next = 0;
  for (auto& [qid, removal] : owed_) {
    const runtime::Address queue{shard_.node(), shard_.id(), runtime::ActorId{qid.value}};
    std::vector<Owed> waiting;
    for (Owed& owed : removal.answers) {
      if (now < owed.deadline_ms) {
        if (next == 0 || owed.deadline_ms < next) next = owed.deadline_ms;
        waiting.push_back(std::move(owed));
        continue;
      }
      if (owed.answer->kind == kDeleteResult) {
        runtime::letter_cast<DeleteResult>(*owed.answer).answer = Answer::kUnavailable;
      }
      shard_.post(queue, owed.to, std::move(owed.answer));
    }
    removal.answers = std::move(waiting);
  }
  late_runs_ = next != 0;
  if (late_runs_) late_->start(next - now);
}

void Removals::done(Qid qid) {
  const auto at = owed_.find(qid);
  RT_CHECK(at != owed_.end(), "a removal that ends twice");
  const runtime::Address queue{shard_.node(), shard_.id(), runtime::ActorId{qid.value}};
  for (Owed& owed : at->second.notices) shard_.post(queue, owed.to, std::move(owed.answer));
  for (Owed& owed : at->second.answers) shard_.post(queue, owed.to, std::move(owed.answer));
  owed_.erase(at);
  if (!owed_.empty() || !late_runs_) return;
  late_->stop();
  late_runs_ = false;
}

}  // namespace ringtail::queue
