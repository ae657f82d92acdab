#include "broker/departures.h"

#include <algorithm>

namespace ringtail::broker {

using cluster::metadata::QueueRecord;
using runtime::ActorId;
using runtime::NodeId;
using runtime::Qid;

namespace {

bool has_master(const std::shared_ptr<const QueueRecord>& record) {
  return record != nullptr && (record->view == nullptr || !record->view->vacant());
}

}  // namespace

Departures::Departures(runtime::Shard& shard, const cluster::metadata::View& view,
                       const Peers& peers)
    : shard_(shard), view_(view), peers_(peers) {}

Departures::~Departures() {
  for (const auto& [id, channel] : channels_) shard_.remove(id);
}

void Departures::take(const runtime::Address& address, const std::vector<QueueLink*>& lines,
                      const runtime::Address* notify, queue::RequestId request) {
  auto& channel = channels_[address.actor];
  channel = std::make_unique<Departed>(*this, address.actor);
  shard_.add(address.actor, *channel);
  channel->lines = lines.size();
  for (QueueLink* link : lines) {
    const Key key{link->record->qid, address.actor};
    Line& line = lines_[key];
    line.record = link->record;
    line.epoch = link->epoch;
    line.kept = std::move(link->kept);
    line.kept_from = link->kept_from;
    line.wants_notice = notify != nullptr && !link->idle();
    if (line.wants_notice) line.notify = *notify;
    line.request = request;
    line.waits_for_node = link->waits == QueueLink::Wait::kNode;
    if (!link->waiting()) say_gone(key, line);
  }
  // What its channel was told of and has not looked at.
  for (QueueLink* link : lines) {
    const Key key{link->record->qid, address.actor};
    const auto record = current(*link->record);
    if (!has_master(record)) {
      done(key);
    } else if (record->epoch() != link->epoch) {
      move(key, record);
    }
  }
}

// --- what queues say ----------------------------------------------------------------------------

void Departures::receive(ActorId channel, runtime::Letter& letter) {
  if (letter.kind != queue::kSettled && letter.kind != queue::kChannelForgotten) return;
  const Key key{static_cast<const queue::QueueLetter&>(letter).qid, channel};
  const auto line = lines_.find(key);
  if (line == lines_.end()) return;
  if (letter.kind == queue::kSettled) {
    settled(line->second, runtime::letter_cast<queue::Settled>(letter).up_to);
  } else {
    done(key);
  }
}

void Departures::settled(Line& line, std::uint64_t up_to) {
  for (; !line.kept.empty() && line.kept_from <= up_to; ++line.kept_from) line.kept.pop_front();
}

// --- news ---------------------------------------------------------------------------------------

void Departures::queue_changed(const QueueRecord& record) {
  for (const Key& key : keys_of(record.qid)) {
    const auto now = current(record);
    if (!has_master(now)) {
      done(key);
    } else if (now->epoch() != lines_.at(key).epoch) {
      move(key, now);
    }
  }
}

void Departures::queue_removed(Qid qid) {
  for (const Key& key : keys_of(qid)) done(key);
}

void Departures::peer_changed(NodeId peer, bool up) {
  for (const Key& key : keys_at(peer)) {
    Line& line = lines_.at(key);
    if (up) {
      if (line.waits_for_node) send(key, line);
    } else if (line.record->view == nullptr || !has_master(current(*line.record))) {
      done(key);
    } else {
      line.waits_for_node = false;  // another master will come
    }
  }
}

void Departures::peer_unreached(NodeId peer) {
  for (const Key& key : keys_at(peer)) done(key);
}

// --- lines --------------------------------------------------------------------------------------

void Departures::move(const Key& key, std::shared_ptr<const QueueRecord> record) {
  Line& line = lines_.at(key);
  line.record = std::move(record);
  line.epoch = line.record->epoch();
  line.waits_for_node = false;
  if (peers_.is_up(line.record->home)) {
    send(key, line);
  } else if (line.epoch == 0 || peers_.is_unreached(line.record->home)) {
    done(key);
  } else {
    line.waits_for_node = true;
  }
}

void Departures::send(const Key& key, Line& line) {
  line.waits_for_node = false;
  if (!line.kept.empty()) {
    auto publish = std::make_unique<queue::Publish>(key.first);
    publish->epoch = line.epoch;
    publish->first_number = line.kept_from;
    publish->messages.assign(line.kept.begin(), line.kept.end());
    shard_.post(address_of(key.second), line.record->address(), std::move(publish));
  }
  say_gone(key, line);
}

void Departures::say_gone(const Key& key, Line& line) {
  auto gone = std::make_unique<queue::ChannelGone>(key.first);
  gone->epoch = line.epoch;
  gone->wants_notice = true;
  gone->notify = address_of(key.second);
  shard_.post(address_of(key.second), line.record->address(), std::move(gone));
}

void Departures::done(const Key& key) {
  const auto at = lines_.find(key);
  const Line& line = at->second;
  if (line.wants_notice) {
    auto notice = std::make_unique<queue::ChannelForgotten>(key.first);
    notice->request = line.request;
    shard_.post(address_of(key.second), line.notify, std::move(notice));
  }
  lines_.erase(at);
  const auto channel = channels_.find(key.second);
  if (--channel->second->lines > 0) return;
  shard_.remove(key.second);
  buried_.push_back(std::move(channel->second));
  channels_.erase(channel);
  shard_.flush_batches_at_turn_end(*this);
}

std::shared_ptr<const QueueRecord> Departures::current(const QueueRecord& record) const {
  auto found = view_.queue(record.vhost, record.name);
  return found != nullptr && found->qid == record.qid ? std::move(found) : nullptr;
}

std::vector<Departures::Key> Departures::keys_of(Qid qid) const {
  std::vector<Key> keys;
  for (auto at = lines_.lower_bound({qid, {}}); at != lines_.end() && at->first.first == qid;
       ++at) {
    keys.push_back(at->first);
  }
  return keys;
}

std::vector<Departures::Key> Departures::keys_at(NodeId peer) const {
  std::vector<Key> keys;
  for (const auto& [key, line] : lines_) {
    if (line.record->home == peer) keys.push_back(key);
  }
  return keys;
}

}  // namespace ringtail::broker
