// Channel::ask, for the files that ask queues.
#pragma once

#include <memory>
#include <utility>

#include "broker/channel.h"

namespace ringtail::broker {

template <typename Request>
void Channel::ask(QueueLink& link, std::unique_ptr<Request> request, OnAnswer done) {
  // What the client did before must have happened when the queue looks.
  flush(link);
  request->request = next_request_++;
  await(request->request, std::move(done));
  shard_.post(address_, link.address, std::move(request));
}

}  // namespace ringtail::broker
