// The store's part that knows the nodes: their lives, and what of the queues goes or moves with
// one.
#include <algorithm>
#include <numeric>
#include <utility>

#include "cluster/metadata/store_state.h"

namespace ringtail::cluster::metadata {

std::size_t NodeEntry::queues() const {
  return std::accumulate(queues_of_shard.begin(), queues_of_shard.end(), std::size_t{0});
}

ShardId emptiest_shard(const NodeEntry& node) {
  const auto least = std::min_element(node.queues_of_shard.begin(), node.queues_of_shard.end());
  return ShardId{static_cast<std::uint16_t>(least - node.queues_of_shard.begin())};
}

std::shared_ptr<const NodeRecord> Store::node(NodeId id) const {
  const NodeEntry* entry = state_->node(id);
  return entry == nullptr ? nullptr : entry->record;
}

std::shared_ptr<const NodeRecord> Store::node_named(std::string_view name) const {
  const NodeEntry* entry = state_->node_named(name);
  return entry == nullptr ? nullptr : entry->record;
}

bool Store::is_forgotten(NodeId id) const { return state_->forgotten.contains(id); }

void Store::for_each_forgotten(const std::function<void(NodeId)>& visit) const {
  for (const NodeId id : state_->forgotten) visit(id);
}

void Store::for_each_node(
    const std::function<void(const std::shared_ptr<const NodeRecord>&)>& visit) const {
  // While one takes the place of another there are two of a name.
  std::multimap<std::string_view, const NodeEntry*> by_name;
  for (const auto& [id, entry] : state_->nodes) by_name.emplace(entry.record->name, &entry);
  for (const auto& [name, entry] : by_name) visit(entry->record);
}

bool Store::accept(NodeId from, Life life, std::uint64_t request, std::uint64_t oldest) {
  if (life == 0) return true;
  NodeEntry* entry = state_->node(from);
  if (entry == nullptr || entry->record->life != life || !entry->record->up) return false;
  if (request <= entry->last_request) return false;  // again
  if (request != entry->last_request + 1 && request != oldest) return false;
  entry->last_request = request;
  return true;
}

NodeEntry* Store::State::node(NodeId id) {
  const auto found = nodes.find(id);
  return found == nodes.end() ? nullptr : &found->second;
}

NodeEntry* Store::State::node_named(std::string_view name) {
  const auto found = std::find_if(nodes.begin(), nodes.end(), [name](const auto& item) {
    return item.second.record->name == name;
  });
  return found == nodes.end() ? nullptr : &found->second;
}

NodeEntry* Store::State::home_of(const DeclareQueue& command) {
  NodeEntry* best = node(command.record.home);
  if (best != nullptr && !best->record->up) best = nullptr;
  if (!command.fewest_queues || command.record.exclusive()) return best;
  const auto before = [](const NodeEntry& a, const NodeEntry& b) {
    return std::pair(a.queues(), std::string_view(a.record->name)) <
           std::pair(b.queues(), std::string_view(b.record->name));
  };
  for (auto& [id, entry] : nodes) {
    if (entry.record->up && (best == nullptr || before(entry, *best))) best = &entry;
  }
  return best;
}

std::vector<std::pair<Vhost*, QueueEntry*>> Store::State::queues_at(NodeId home) {
  std::vector<std::pair<Vhost*, QueueEntry*>> found;
  for (auto& [name, where] : vhosts) {
    where.queues.for_each([&found, &where, home](QueueEntry& entry) {
      if (entry.record->home == home) found.emplace_back(&where, &entry);
    });
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.second->age < b.second->age; });
  return found;
}

void Store::State::set_node(NodeEntry& entry, NodeRecord record) {
  ++version;
  entry.record = std::make_shared<const NodeRecord>(std::move(record));
  for (Observer* observer : observers) observer->node_changed(entry.record);
}

void Store::State::drop_queues(NodeId home, bool durable_too) {
  for (const auto& [where, entry] : queues_at(home)) {
    const QueueRecord& record = *entry->record;
    if (record.durable && !record.exclusive() && !durable_too) continue;
    drop_queue(*where, *entry);
    drop_orphans(*where);
  }
}

void Store::State::end_life(NodeEntry& entry, bool in_order) {
  if (!entry.record->up) return;
  NodeRecord record = *entry.record;
  record.up = false;
  record.stopped = in_order;
  set_node(entry, std::move(record));
  drop_queues(entry.record->id, false);
}

void Store::State::move_queue(Vhost& where, QueueEntry& entry, NodeId home, ShardId shard) {
  if (entry.record->home == home && entry.record->shard == shard) return;
  ++version;
  auto record = std::make_shared<QueueRecord>(*entry.record);
  record->home = home;
  record->shard = shard;
  const std::shared_ptr<const QueueRecord> moved = std::move(record);
  replace_record(where.queues, entry, moved);
  for (Observer* observer : observers) observer->queue_moved(moved);
}

void Store::State::place_queues(NodeEntry& at, NodeId of) {
  for (const auto& [where, entry] : queues_at(of)) {
    const ShardId shard = emptiest_shard(at);
    move_queue(*where, *entry, at.record->id, shard);
    ++at.queues_of_shard[shard.value];
  }
}

CommandResult Store::State::apply(const NodeUp& command) {
  // CL17: its lives would be counted from 1 again, and others have seen those end.
  if (command.record.shards == 0 || forgotten.contains(command.record.id)) {
    return {Outcome::kNoNode, nullptr, nullptr};
  }
  NodeEntry* of_that_name = node_named(command.record.name);
  if (of_that_name != nullptr && of_that_name->record->id != command.record.id) {
    if (of_that_name->record->up) return {Outcome::kNodeUp, nullptr, nullptr};
  } else {
    of_that_name = nullptr;
  }
  NodeEntry& entry = nodes[command.record.id];
  if (entry.record != nullptr && entry.record->up && entry.record->boot == command.record.boot) {
    return {Outcome::kUnchanged, nullptr, nullptr, entry.record};
  }
  if (entry.record != nullptr) end_life(entry, false);
  NodeRecord record = command.record;
  record.life = entry.record == nullptr ? 1 : entry.record->life + 1;
  record.up = true;
  record.stopped = false;
  entry.last_request = 0;
  const bool as_before = entry.record != nullptr && entry.record->shards == record.shards;
  set_node(entry, std::move(record));
  if (!as_before) {
    entry.queues_of_shard.assign(entry.record->shards, 0);
    place_queues(entry, entry.record->id);
  }
  if (of_that_name != nullptr) {
    place_queues(entry, of_that_name->record->id);
    forget(*of_that_name);
  }
  return {Outcome::kDone, nullptr, nullptr, entry.record};
}

CommandResult Store::State::apply(const NodeDown& command) {
  NodeEntry* entry = node(command.node);
  if (entry == nullptr) return {Outcome::kNoNode, nullptr, nullptr};
  if (!entry->record->up || entry->record->life != command.life) {
    return {Outcome::kUnchanged, nullptr, nullptr, entry->record};
  }
  end_life(*entry, command.in_order);
  return {Outcome::kDone, nullptr, nullptr, entry->record};
}

CommandResult Store::State::apply(const ForgetNode& command) {
  NodeEntry* entry = node(command.node);
  if (entry == nullptr) return {Outcome::kNoNode, nullptr, nullptr};
  if (entry->record->up) return {Outcome::kNodeUp, nullptr, nullptr, entry->record};
  drop_queues(command.node, true);
  forget(*entry);
  return {};
}

void Store::State::forget(NodeEntry& entry) {
  ++version;
  const std::shared_ptr<const NodeRecord> record = entry.record;
  nodes.erase(record->id);
  forgotten.insert(record->id);
  for (Observer* observer : observers) observer->node_removed(*record);
}

}  // namespace ringtail::cluster::metadata
