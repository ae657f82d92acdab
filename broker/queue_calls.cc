#include "broker/queue_calls.h"

#include <array>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace ringtail::broker {

QueueCalls::QueueCalls(runtime::Shard& shard) : shard_(shard), address_(shard.add(*this)) {}

QueueCalls::~QueueCalls() { shard_.remove(address_.actor); }

void QueueCalls::ask(const cluster::metadata::QueueRecord& queue, const QueueQuestion& question,
                     Done done) {
  if (down_.contains(queue.home) || (queue.view != nullptr && queue.view->vacant())) {
    done({.node_down = true});
    return;
  }
  const queue::RequestId request = next_request_++;
  Waiting& waiting = waiting_[request];
  waiting = {queue.home, std::move(done), question, nullptr, 0};
  if (queue.view != nullptr) {
    waiting.queue = std::make_unique<cluster::metadata::QueueRecord>(queue);
    of_mirrored_.emplace(queue.qid, request);
  }
  send(queue, request, waiting);
}

template <typename Request>
void QueueCalls::post(const cluster::metadata::QueueRecord& queue,
                      std::unique_ptr<Request> letter) {
  letter->epoch = queue.epoch();
  shard_.post(address_, queue.address(), std::move(letter));
}

void QueueCalls::send(const cluster::metadata::QueueRecord& queue, queue::RequestId request,
                      Waiting& waiting) {
  const QueueQuestion& question = waiting.question;
  if (question.what == QueueQuestion::What::kTry) {
    try_queue(queue, request, waiting);
  } else if (question.what == QueueQuestion::What::kPurge) {
    auto letter = std::make_unique<queue::Purge>(queue.qid);
    letter->request = request;
    post(queue, std::move(letter));
  } else if (question.what == QueueQuestion::What::kInspect) {
    auto letter = std::make_unique<queue::Inspect>(queue.qid);
    letter->request = request;
    letter->counts_as_use = false;
    post(queue, std::move(letter));
  } else {
    auto letter = std::make_unique<queue::Delete>(queue.qid);
    letter->request = request;
    letter->if_unused = question.if_unused;
    letter->if_empty = question.if_empty;
    post(queue, std::move(letter));
  }
}

// The get is behind the publish, so it finds the message whatever else the queue holds; the
// answer to the publish says no more and is dropped. Asked again, it is the same message.
void QueueCalls::try_queue(const cluster::metadata::QueueRecord& queue, queue::RequestId request,
                           Waiting& waiting) {
  std::vector<std::uint8_t> route{0, static_cast<std::uint8_t>(queue.name.size())};
  route.insert(route.end(), queue.name.begin(), queue.name.end());
  constexpr std::array<std::uint8_t, 2> kNoProperties = {0, 0};
  constexpr std::string_view kBody = "test_message";
  queue::MessageRef message(queue::Message::create(route, kNoProperties, kBody.size(), {}));
  message->append_body(runtime::as_bytes(kBody));
  auto publish = std::make_unique<queue::Publish>(queue.qid);
  Published& published = published_[queue.qid];
  published.node = queue.home;
  published.mirrored = queue.view != nullptr;
  if (waiting.number == 0) waiting.number = ++published.last;
  publish->first_number = waiting.number;
  publish->messages.push_back(std::move(message));
  post(queue, std::move(publish));
  auto get = std::make_unique<queue::Get>(queue.qid);
  get->request = request;
  get->no_ack = true;
  post(queue, std::move(get));
}

void QueueCalls::receive(runtime::LetterPtr letter) noexcept {
  if (letter->kind == queue::kPurged) {
    const auto& purged = runtime::letter_cast<queue::Purged>(*letter);
    answered(purged.request, {purged.answer, purged.messages});
  } else if (letter->kind == queue::kDeleteResult) {
    const auto& result = runtime::letter_cast<queue::DeleteResult>(*letter);
    answered(result.request, {result.answer, result.messages});
  } else if (letter->kind == queue::kGetResult) {
    const auto& got = runtime::letter_cast<queue::GetResult>(*letter);
    if (got.answer == queue::Answer::kNotFound) published_.erase(got.qid);
    answered(got.request, {got.answer, got.message ? 1U : 0U});
  } else if (letter->kind == queue::kInspected) {
    const auto& inspected = runtime::letter_cast<queue::Inspected>(*letter);
    answered(inspected.request,
             {.answer = inspected.answer,
              .stats = {.messages_ready = inspected.messages_ready,
                        .messages_unacknowledged = inspected.messages_unacknowledged,
                        .message_bytes_ready = inspected.message_bytes_ready,
                        .published = inspected.published,
                        .delivered = inspected.delivered,
                        .acknowledged = inspected.acknowledged,
                        .redelivered = inspected.redelivered,
                        .consumers = inspected.consumers}});
  }
}

// --- mirrored queues ----------------------------------------------------------------------------

std::vector<queue::RequestId> QueueCalls::of_mirrored(runtime::Qid qid) const {
  std::vector<queue::RequestId> requests;
  for (auto at = of_mirrored_.lower_bound({qid, 0}); at != of_mirrored_.end() && at->first == qid;
       ++at) {
    requests.push_back(at->second);
  }
  return requests;
}

void QueueCalls::queue_changed(const cluster::metadata::QueueRecord& queue) {
  for (const queue::RequestId former : of_mirrored(queue.qid)) {
    const auto at = waiting_.find(former);
    if (at->second.queue->epoch() == queue.epoch() && !(queue.view && queue.view->vacant()))
      continue;
    if (queue.view == nullptr || queue.view->vacant() || down_.contains(queue.home)) {
      answered(former, {.node_down = true});
      continue;
    }
    // Under another number: what the former master answers is of no interest.
    auto waiting = waiting_.extract(at);
    of_mirrored_.erase({queue.qid, former});
    waiting.key() = next_request_++;
    Waiting& again = waiting_.insert(std::move(waiting)).position->second;
    of_mirrored_.emplace(queue.qid, next_request_ - 1);
    again.node = queue.home;
    *again.queue = queue;
    send(queue, next_request_ - 1, again);
  }
}

void QueueCalls::queue_removed(runtime::Qid qid) {
  published_.erase(qid);
  for (const queue::RequestId request : of_mirrored(qid)) {
    Waiting& waiting = waiting_.at(request);
    if (down_.contains(waiting.node)) {
      answered(request, {});
    } else {
      // Its master answers, as long as it lives; there will not be another one.
      of_mirrored_.erase({qid, request});
      waiting.queue.reset();
    }
  }
}

// --- other nodes --------------------------------------------------------------------------------

void QueueCalls::peer_changed(runtime::NodeId node, bool up) {
  if (up) {
    down_.erase(node);
    return;
  }
  down_.insert(node);
  std::erase_if(published_, [&](const auto& entry) {
    return entry.second.node == node && !entry.second.mirrored;
  });
  // Of mirrored queues there will be news.
  refuse_waiting(node, false);
}

void QueueCalls::peer_reached(runtime::NodeId node, bool reached) {
  if (reached) {
    down_.erase(node);
  } else {
    down_.insert(node);
    refuse_waiting(node, true);
  }
}

void QueueCalls::refuse_waiting(runtime::NodeId node, bool of_mirrored_too) {
  std::vector<queue::RequestId> lost;
  for (const auto& [request, waiting] : waiting_) {
    if (waiting.node != node) continue;
    if (of_mirrored_too || waiting.queue == nullptr) lost.push_back(request);
  }
  for (const queue::RequestId request : lost) answered(request, {.node_down = true});
}

void QueueCalls::answered(queue::RequestId request, const QueueAnswer& answer) {
  const auto waiting = waiting_.extract(request);
  if (waiting.empty()) return;
  if (waiting.mapped().queue != nullptr) {
    of_mirrored_.erase({waiting.mapped().queue->qid, request});
  }
  waiting.mapped().done(answer);
}

}  // namespace ringtail::broker
