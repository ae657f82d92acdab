#include "broker/queue_calls.h"

#include <memory>
#include <utility>

namespace ringtail::broker {

QueueCalls::QueueCalls(runtime::Shard& shard) : shard_(shard), address_(shard.add(*this)) {}

QueueCalls::~QueueCalls() { shard_.remove(address_.actor); }

void QueueCalls::ask(const cluster::metadata::QueueRecord& queue, const QueueQuestion& question,
                     Done done) {
  const queue::RequestId request = next_request_++;
  waiting_[request] = std::move(done);
  const runtime::Address to{shard_.node(), queue.shard, runtime::ActorId{queue.qid.value}};
  if (question.what == QueueQuestion::What::kPurge) {
    auto letter = std::make_unique<queue::Purge>(queue.qid);
    letter->request = request;
    shard_.post(address_, to, std::move(letter));
  } else {
    auto letter = std::make_unique<queue::Delete>(queue.qid);
    letter->request = request;
    letter->if_unused = question.if_unused;
    letter->if_empty = question.if_empty;
    shard_.post(address_, to, std::move(letter));
  }
}

void QueueCalls::receive(runtime::LetterPtr letter) noexcept {
  if (letter->kind == queue::kPurged) {
    const auto& purged = runtime::letter_cast<queue::Purged>(*letter);
    answered(purged.request, {purged.answer, purged.messages});
  } else if (letter->kind == queue::kDeleteResult) {
    const auto& result = runtime::letter_cast<queue::DeleteResult>(*letter);
    answered(result.request, {result.answer, result.messages});
  }
}

void QueueCalls::answered(queue::RequestId request, const QueueAnswer& answer) {
  const auto waiting = waiting_.extract(request);
  if (!waiting.empty()) waiting.mapped()(answer);
}

}  // namespace ringtail::broker
