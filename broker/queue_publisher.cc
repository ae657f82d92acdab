#include "broker/queue_publisher.h"

#include <algorithm>
#include <utility>

namespace ringtail::broker {

using runtime::Qid;

QueuePublisher::QueuePublisher(runtime::Shard& shard) : shard_(shard), address_(shard.add(*this)) {}

QueuePublisher::~QueuePublisher() { shard_.remove(address_.actor); }

void QueuePublisher::publish(const cluster::metadata::QueueRecord& queue,
                             queue::MessageRef message) {
  if (!down_.empty() && down_.contains(queue.home)) return;
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
  look_at_waiters();
}

void QueuePublisher::peer_changed(runtime::NodeId peer, bool up) {
  if (up) {
    down_.erase(peer);
    return;
  }
  down_.insert(peer);
  std::erase_if(lines_, [&](const auto& entry) {
    const Line& line = entry.second;
    if (line.address.node != peer) return false;
    unsettled_ -= line.published - line.settled;
    return true;
  });
  look_at_waiters();
}

void QueuePublisher::receive(runtime::LetterPtr letter) noexcept {
  if (letter->kind != queue::kSettled) return;
  const auto& settled = runtime::letter_cast<queue::Settled>(*letter);
  const auto found = lines_.find(settled.qid);
  if (found == lines_.end() || settled.up_to <= found->second.settled) return;
  const std::uint64_t up_to = std::min(settled.up_to, found->second.published);
  unsettled_ -= up_to - found->second.settled;
  found->second.settled = up_to;
  look_at_waiters();
}

void QueuePublisher::when_settled(std::function<void()> done) {
  Waiter waiter{{}, std::move(done)};
  for (const auto& [qid, line] : lines_) {
    if (line.settled < line.published) waiter.missing.emplace_back(qid, line.published);
  }
  waiters_.push_back(std::move(waiter));
  look_at_waiters();
}

void QueuePublisher::look_at_waiters() {
  std::vector<std::function<void()>> done;
  std::erase_if(waiters_, [&](Waiter& waiter) {
    std::erase_if(waiter.missing, [this](const auto& one) {
      const auto line = lines_.find(one.first);
      return line == lines_.end() || line->second.settled >= one.second;
    });
    if (!waiter.missing.empty()) return false;
    done.push_back(std::move(waiter.done));
    return true;
  });
  for (const auto& each : done) each();
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
