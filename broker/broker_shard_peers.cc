// What a shard does when another node goes or comes back.
#include <memory>
#include <vector>

#include "broker/broker_shard.h"
#include "broker/channel.h"
#include "broker/connection.h"

namespace ringtail::broker {

using runtime::NodeId;

void BrokerShard::set_node_name(NodeId node, const std::string& name) {
  if (name.empty()) {
    peers_.forget(node);
  } else {
    peers_.set_name(node, name);
  }
}

void BrokerShard::node_changed(const std::shared_ptr<const cluster::metadata::NodeRecord>& record) {
  peers_.set_name(record->id, record->name);
}

void BrokerShard::node_removed(const cluster::metadata::NodeRecord& record) {
  peers_.forget(record.id);
}

// By letter: what has come from the node lies in the shard's line in front of it. Handled after
// the end, a publish would make a place for a channel that never says goodbye.
void BrokerShard::peer_down(NodeId node) {
  const runtime::Address self = address_of(shard_.node(), shard_.id());
  shard_.post(self, self, std::make_unique<PeerChanged>(kPeerDown, node));
}

void BrokerShard::peer_up(NodeId node) {
  const runtime::Address self = address_of(shard_.node(), shard_.id());
  shard_.post(self, self, std::make_unique<PeerChanged>(kPeerUp, node));
}

// By letter: it is said in the middle of whatever fills the link.
void BrokerShard::peer_congested(NodeId node, bool congested) noexcept {
  const runtime::Address self = address_of(shard_.node(), shard_.id());
  shard_.post(self, self,
              std::make_unique<PeerChanged>(congested ? kPeerCongested : kPeerRelieved, node));
}

void BrokerShard::peer_reached(NodeId node, bool reached) noexcept {
  const runtime::Address self = address_of(shard_.node(), shard_.id());
  shard_.post(self, self,
              std::make_unique<PeerChanged>(reached ? kPeerReached : kPeerUnreached, node));
}

// Its consumers here, and what it has of ours, stay; what waits for it does so no longer.
void BrokerShard::reach_changed(NodeId node, bool reached) {
  if (node == shard_.node() || !peers_.set_reached(node, reached)) return;
  queue_calls_.peer_reached(node, reached);
  if (!reached) departures_.peer_unreached(node);
  for (const std::uint64_t id : connection_ids()) {
    if (Connection* one = connection(id)) one->peer_reached(node, reached);
  }
}

// Who publishes to that node's queues is not read until there is room again.
void BrokerShard::congestion_changed(NodeId node, bool congested) {
  peers_.set_congested(node, congested);
  for (const auto& [id, connection] : connections_) connection->peer_congested(node, congested);
}

void BrokerShard::peer_changed(NodeId node, bool up) {
  if (node == shard_.node()) return;
  peers_.set_up(node, up);
  dead_letters_.peer_changed(node, up);
  recent_history_.peer_changed(node, up);
  queue_calls_.peer_changed(node, up);
  departures_.peer_changed(node, up);
  if (!up) queues_.peer_down(node);
  for (const std::uint64_t id : connection_ids()) {
    if (Connection* one = connection(id)) one->peer_changed(node, up);
  }
}

// --- mirrored queues ----------------------------------------------------------------------------

void BrokerShard::line_made(runtime::Qid qid, runtime::ActorId channel, Channel& owner) {
  lines_.insert_or_assign({qid, channel}, &owner);
}

void BrokerShard::line_ended(runtime::Qid qid, runtime::ActorId channel) {
  lines_.erase({qid, channel});
}

template <typename Tell>
void BrokerShard::tell_lines(runtime::Qid qid, Tell tell) {
  for (auto at = lines_.lower_bound({qid, {}}); at != lines_.end() && at->first.first == qid;
       ++at) {
    tell(*at->second);
  }
}

void BrokerShard::queue_changed(
    const std::shared_ptr<const cluster::metadata::QueueRecord>& record) {
  tell_lines(record->qid, [&](Channel& channel) { channel.queue_changed(record->qid); });
  departures_.queue_changed(*record);
  queue_calls_.queue_changed(*record);
}

void BrokerShard::queue_gone(const cluster::metadata::QueueRecord& record) {
  tell_lines(record.qid, [&](Channel& channel) { channel.queue_removed(record.qid); });
  departures_.queue_removed(record.qid);
  queue_calls_.queue_removed(record.qid);
}

// To be gone through where some may end meanwhile.
std::vector<std::uint64_t> BrokerShard::connection_ids() const {
  std::vector<std::uint64_t> ids;
  ids.reserve(connections_.size());
  for (const auto& [id, connection] : connections_) ids.push_back(id);
  return ids;
}

}  // namespace ringtail::broker
