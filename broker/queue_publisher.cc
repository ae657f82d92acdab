#include "broker/queue_publisher.h"

#include <algorithm>
#include <utility>

namespace ringtail::broker {

using runtime::Qid;

QueuePublisher::QueuePublisher(runtime::Shard& shard) : shard_(shard), address_(shard.add(*this)) {}

QueuePublisher::~QueuePublisher() { shard_.remove(address_.actor); }

void QueuePublisher::publish(const cluster::metadata::QueueRecord& queue,
                             queue::MessageRef message) {
  if (queue.view == nullptr && !down_.empty() && down_.contains(queue.home)) return;
  Line& line = lines_[queue.qid];
  if (line.epoch != queue.epoch()) follow(line, queue);
  if (line.vacant) return;
  if (line.publishes == nullptr) {
    if (line.epoch == 0) line.address = queue.address();
    line.publishes = std::make_unique<queue::Publish>(queue.qid);
    line.publishes->first_number = line.published + 1;
    dirty_.push_back(queue.qid);
    shard_.flush_batches_at_turn_end(*this);
  }
  line.publishes->messages.push_back(std::move(message));
  ++line.published;
  ++unsettled_;
}

// --- mirrored queues ----------------------------------------------------------------------------

void QueuePublisher::queue_changed(const cluster::metadata::QueueRecord& queue) {
  const auto found = lines_.find(queue.qid);
  if (found == lines_.end()) return;
  Line& line = found->second;
  if (line.epoch != 0 || queue.view != nullptr) follow(line, queue);
  look_at_waiters();
}

void QueuePublisher::follow(Line& line, const cluster::metadata::QueueRecord& queue) {
  const bool begins = line.published == 0;
  const bool same_master =
      !begins && line.address == queue.address() &&
      (line.epoch == queue.epoch() || line.epoch == 0 || queue.view == nullptr);
  line.vacant = queue.view != nullptr && queue.view->vacant();
  line.epoch = queue.epoch();
  if (same_master) {
    if (line.epoch == 0) line.kept.clear();
    if (line.vacant) give_up(line, line.published);
    return;
  }
  keep(line);
  // What was published before the queue had mirrors cannot be sent again.
  give_up(line, line.vacant ? line.published : line.published - line.kept.size());
  line.address = queue.address();
  line.waits_for_epoch = false;
  line.waits_for_node = line.epoch != 0 && down_.contains(queue.home);
  if (line.vacant || line.waits_for_node) return;
  send_kept(queue.qid, line);
  if (line.epoch == 0) line.kept.clear();
}

// Up to this number nothing is owed any more.
void QueuePublisher::give_up(Line& line, std::uint64_t up_to) {
  for (; !line.kept.empty() && line.kept_from <= up_to; ++line.kept_from) line.kept.pop_front();
  if (up_to == line.published) line.publishes.reset();
  if (up_to <= line.settled) return;
  unsettled_ -= up_to - line.settled;
  line.settled = up_to;
}

// So that what is gathered can be sent again.
void QueuePublisher::keep(Line& line) {
  if (line.publishes == nullptr) return;
  auto& messages = line.publishes->messages;
  if (line.kept.empty()) line.kept_from = line.publishes->first_number;
  line.kept.insert(line.kept.end(), messages.begin(), messages.end());
  line.publishes.reset();
}

void QueuePublisher::send_kept(Qid qid, const Line& line) {
  if (line.kept.empty()) return;
  auto letter = std::make_unique<queue::Publish>(qid);
  letter->epoch = line.epoch;
  letter->first_number = line.kept_from;
  letter->messages.assign(line.kept.begin(), line.kept.end());
  shard_.post(address_, line.address, std::move(letter));
}

// --- the ends of queues and nodes ---------------------------------------------------------------

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
    for (auto& [qid, line] : lines_) {
      if (!line.waits_for_node || line.address.node != peer) continue;
      line.waits_for_node = false;
      keep(line);
      send_kept(qid, line);
    }
    return;
  }
  down_.insert(peer);
  for (auto at = lines_.begin(); at != lines_.end();) {
    Line& line = at->second;
    if (line.address.node != peer) {
      ++at;
    } else if (line.epoch != 0) {
      // Numbers go on, and what is kept with them.
      line.waits_for_epoch = !line.vacant;
      line.waits_for_node = false;
      ++at;
    } else {
      unsettled_ -= line.published - line.settled;
      at = lines_.erase(at);
    }
  }
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
  Line& line = found->second;
  for (; !line.kept.empty() && line.kept_from <= up_to; ++line.kept_from) line.kept.pop_front();
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
    Line& line = found->second;
    if (line.epoch == 0) {
      shard_.post(address_, line.address, std::move(line.publishes));
      continue;
    }
    const std::size_t before = line.kept.size();
    auto letter = std::make_unique<queue::Publish>(qid);
    letter->epoch = line.epoch;
    letter->first_number = line.publishes->first_number;
    keep(line);
    if (line.waiting()) continue;
    letter->messages.assign(line.kept.begin() + static_cast<std::ptrdiff_t>(before),
                            line.kept.end());
    shard_.post(address_, line.address, std::move(letter));
  }
  dirty_.clear();
}

}  // namespace ringtail::broker
