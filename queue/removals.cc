#include "queue/removals.h"

#include <utility>

#include "broker/runtime/check.h"

namespace ringtail::queue {

using runtime::Qid;

void Removals::start(const std::shared_ptr<const cluster::metadata::QueueRecord>& record) {
  const Qid qid = record->qid;
  const bool first = owed_.try_emplace(qid).second;
  RT_CHECK(first, "a queue that is being removed already");
  remove_queue_(record, [this, qid] { done(qid); });
}

void Removals::owe(Qid qid, const runtime::Address& to, runtime::LetterPtr answer) {
  const auto at = owed_.find(qid);
  RT_CHECK(at != owed_.end(), "an answer that nobody will send");
  at->second.answers.push_back({to, std::move(answer)});
}

bool Removals::owe_notice(Qid qid, const runtime::Address& to, runtime::LetterPtr& notice) {
  const auto at = owed_.find(qid);
  if (at == owed_.end()) return false;
  at->second.notices.push_back({to, std::move(notice)});
  return true;
}

void Removals::peer_down(runtime::NodeId node) {
  const auto there = [node](const Owed& owed) { return owed.to.node == node; };
  for (auto& [qid, removal] : owed_) {
    std::erase_if(removal.notices, there);
    std::erase_if(removal.answers, there);
  }
}

void Removals::done(Qid qid) {
  const auto at = owed_.find(qid);
  RT_CHECK(at != owed_.end(), "a removal that ends twice");
  const runtime::Address queue{shard_.node(), shard_.id(), runtime::ActorId{qid.value}};
  for (Owed& owed : at->second.notices) shard_.post(queue, owed.to, std::move(owed.answer));
  for (Owed& owed : at->second.answers) shard_.post(queue, owed.to, std::move(owed.answer));
  owed_.erase(at);
}

}  // namespace ringtail::queue
