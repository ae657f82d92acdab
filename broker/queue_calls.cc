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
  if (down_.contains(queue.home)) {
    done({.node_down = true});
    return;
  }
  const queue::RequestId request = next_request_++;
  waiting_[request] = {queue.home, std::move(done)};
  const runtime::Address to = queue.address();
  if (question.what == QueueQuestion::What::kTry) {
    try_queue(queue, request);
  } else if (question.what == QueueQuestion::What::kPurge) {
    auto letter = std::make_unique<queue::Purge>(queue.qid);
    letter->request = request;
    shard_.post(address_, to, std::move(letter));
  } else if (question.what == QueueQuestion::What::kInspect) {
    auto letter = std::make_unique<queue::Inspect>(queue.qid);
    letter->request = request;
    letter->counts_as_use = false;
    shard_.post(address_, to, std::move(letter));
  } else {
    auto letter = std::make_unique<queue::Delete>(queue.qid);
    letter->request = request;
    letter->if_unused = question.if_unused;
    letter->if_empty = question.if_empty;
    shard_.post(address_, to, std::move(letter));
  }
}

// The get is behind the publish, so it finds the message whatever else the queue holds; the
// answer to the publish says no more and is dropped.
void QueueCalls::try_queue(const cluster::metadata::QueueRecord& queue, queue::RequestId request) {
  const runtime::Address to = queue.address();
  std::vector<std::uint8_t> route{0, static_cast<std::uint8_t>(queue.name.size())};
  route.insert(route.end(), queue.name.begin(), queue.name.end());
  constexpr std::array<std::uint8_t, 2> kNoProperties = {0, 0};
  constexpr std::string_view kBody = "test_message";
  queue::MessageRef message(queue::Message::create(route, kNoProperties, kBody.size(), {}));
  message->append_body(runtime::as_bytes(kBody));
  auto publish = std::make_unique<queue::Publish>(queue.qid);
  Published& published = published_[queue.qid];
  published.node = queue.home;
  publish->first_number = ++published.last;
  publish->messages.push_back(std::move(message));
  shard_.post(address_, to, std::move(publish));
  auto get = std::make_unique<queue::Get>(queue.qid);
  get->request = request;
  get->no_ack = true;
  shard_.post(address_, to, std::move(get));
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

void QueueCalls::peer_changed(runtime::NodeId node, bool up) {
  if (up) {
    down_.erase(node);
    return;
  }
  down_.insert(node);
  std::erase_if(published_, [&](const auto& entry) { return entry.second.node == node; });
  refuse_waiting(node);
}

void QueueCalls::peer_reached(runtime::NodeId node, bool reached) {
  if (reached) {
    down_.erase(node);
  } else {
    down_.insert(node);
    refuse_waiting(node);
  }
}

void QueueCalls::refuse_waiting(runtime::NodeId node) {
  std::vector<queue::RequestId> lost;
  for (const auto& [request, waiting] : waiting_) {
    if (waiting.node == node) lost.push_back(request);
  }
  for (const queue::RequestId request : lost) answered(request, {.node_down = true});
}

void QueueCalls::answered(queue::RequestId request, const QueueAnswer& answer) {
  const auto waiting = waiting_.extract(request);
  if (!waiting.empty()) waiting.mapped().done(answer);
}

}  // namespace ringtail::broker
