// Channel::ask and what comes of it, for the files that ask queues.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "broker/channel.h"

namespace ringtail::broker {

// Why a queue did not do what it was asked.
inline amqp::AmqpError unusable_queue(queue::Answer answer, std::string_view vhost,
                                      std::string_view name) {
  return answer == queue::Answer::kDamaged ? amqp::not_found_queue_damaged(vhost, name)
                                           : amqp::not_found_queue(vhost, name);
}

template <typename Request>
runtime::LetterPtr copy_of(const runtime::Letter& request, std::uint64_t number,
                           std::uint64_t epoch) {
  auto copy = std::make_unique<Request>(static_cast<const Request&>(request));
  copy->request = number;
  copy->epoch = epoch;
  return copy;
}

template <typename Request>
void Channel::ask(QueueLink& link, std::unique_ptr<Request> request, OnAnswer done) {
  if (link.down) {
    refuse_for_down(link);
    return;
  }
  // What the client did before must have happened when the queue looks.
  flush(link);
  request->request = next_request_++;
  request->epoch = link.epoch;
  AwaitedAnswers::Entry& awaited =
      awaited_.add(request->request, link.address.node, std::move(done));
  awaited.queue = link.record;
  awaited.cancels = request->kind == queue::kCancel;
  if (link.mirrored()) {
    awaited.again = std::make_unique<Request>(*request);
    awaited.copy = &copy_of<Request>;
    awaited.waits = link.waiting();
    if (awaited.waits) return;
  }
  shard_.post(address_, link.address, std::move(request));
}

}  // namespace ringtail::broker
