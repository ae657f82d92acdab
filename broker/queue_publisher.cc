#include "broker/queue_publisher.h"

#include <algorithm>
#include <utility>

namespace ringtail::broker {

using runtime::Qid;

QueuePublisher::QueuePublisher(runtime::Shard& shard) : shard_(shard), address_(shard.add(*this)) {}

QueuePublisher::~QueuePublisher() { shard_.remove(address_.actor); }

void QueuePublisher::publish(const cluster::metadata::QueueRecord& queue,
                             queue::MessageRef message) {
  Line& line = lines_[queue.qid];
  if (line.publishes == nullptr) {
    line.address = queue.address();
    line.publishes = std::make_unique<queue::Publish>(queue.qid);
    line.publishes->first_number = line.published + 1;
    dirty_.push_back(queue.qid);
    shard_.flush_batches_at_turn_end(*this);
  }
  line.publishes->messages.push_back(std::move(message));
  ++line.published;
  ++unsettled_;
}

void QueuePublisher::forget(Qid qid) {
  const auto found = lines_.find(qid);
  if (found == lines_.end()) return;
  unsettled_ -= found->second.published - found->second.settled;
  lines_.erase(found);
}

void QueuePublisher::receive(runtime::LetterPtr letter) noexcept {
  if (letter->kind != queue::kSettled) return;
  const auto& settled = runtime::letter_cast<queue::Settled>(*letter);
  const auto found = lines_.find(settled.qid);
  if (found == lines_.end() || settled.up_to <= found->second.settled) return;
  const std::uint64_t up_to = std::min(settled.up_to, found->second.published);
  unsettled_ -= up_to - found->second.settled;
  found->second.settled = up_to;
}

void QueuePublisher::turn_end() noexcept {
  for (const Qid qid : dirty_) {
    const auto found = lines_.find(qid);
    if (found == lines_.end() || found->second.publishes == nullptr) continue;
    shard_.post(address_, found->second.address, std::move(found->second.publishes));
  }
  dirty_.clear();
}

}  // namespace ringtail::broker
