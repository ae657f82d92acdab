// The store's part that knows the nodes: their lives, and what of the queues goes or moves with
// one.
#include <algorithm>
#include <numeric>
#include <utility>

#include "cluster/metadata/store_state.h"

namespace ringtail::cluster::metadata {

std::size_t NodeEntry::copies() const {
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

NodeEntry* Store::State::up_node(NodeEntry* entry) const {
  return entry != nullptr && entry->record->up ? entry : nullptr;
}

NodeEntry* Store::State::home_of(const QueueRecord& record, bool fewest_queues) {
  NodeEntry* best = up_node(node(record.home));
  if (record.exclusive()) return best;
  const std::optional<Mirrors> wish = wanted_mirrors(record.options, record.policy.get());
  const bool named = wish && wish->mode == MirrorMode::kNodes && !wish->nodes.empty();
  if (named && record.options.mirrors) return up_node(node_named(wish->nodes.front()));
  std::vector<NodeEntry*> choice;
  if (named) {
    for (const std::string& name : wish->nodes) {
      if (NodeEntry* entry = up_node(node_named(name))) choice.push_back(entry);
    }
    const bool there = std::find(choice.begin(), choice.end(), best) != choice.end();
    if (!choice.empty() && !there) best = choice.front();
  }
  if (!fewest_queues) return best;
  if (choice.empty()) {
    for (auto& [id, entry] : nodes) {
      if (entry.record->up) choice.push_back(&entry);
    }
  }
  const auto least =
      std::min_element(choice.begin(), choice.end(), [](const auto* a, const auto* b) {
        return std::pair(a->masters, std::string_view(a->record->name)) <
               std::pair(b->masters, std::string_view(b->record->name));
      });
  return least == choice.end() ? nullptr : *least;
}

Store::State::Found Store::State::queues_if(
    const std::function<bool(const QueueRecord&)>& condition) {
  Found found;
  for (auto& [name, where] : vhosts) {
    where.queues.for_each([&found, &where, &condition](QueueEntry& entry) {
      if (condition(*entry.record)) found.emplace_back(&where, &entry);
    });
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.second->age < b.second->age; });
  return found;
}

Store::State::Found Store::State::unmirrored_at(NodeId home) {
  return queues_if(
      [home](const QueueRecord& record) { return record.home == home && record.view == nullptr; });
}

void Store::State::set_node(NodeEntry& entry, NodeRecord record) {
  ++version;
  entry.record = std::make_shared<const NodeRecord>(std::move(record));
  for (Observer* observer : observers) observer->node_changed(entry.record);
}

void Store::State::drop_queues(NodeId home, bool durable_too) {
  for (const auto& [where, entry] : unmirrored_at(home)) {
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
  end_memberships(entry.record->id);
}

void Store::State::move_queues(NodeEntry& at, NodeId of) {
  for (const auto& [where, entry] : unmirrored_at(of)) {
    QueueRecord record = *entry->record;
    record.home = at.record->id;
    record.shard = emptiest_shard(at);
    replace_queue(*where, *entry, std::move(record));
  }
}

// Its former places count no more, so none is taken off.
void Store::State::spread_queues(NodeEntry& at) {
  const NodeId id = at.record->id;
  at.queues_of_shard.assign(at.record->shards, 0);
  const auto here = queues_if([id](const QueueRecord& record) {
    if (record.view == nullptr) return record.home == id;
    return std::any_of(record.view->members.begin(), record.view->members.end(),
                       [id](const QueueMember& member) { return member.node == id; });
  });
  for (const auto& [where, entry] : here) {
    const ShardId shard = emptiest_shard(at);
    ++at.queues_of_shard[shard.value];
    QueueRecord record = *entry->record;
    if (record.home == id) record.shard = shard;
    if (record.view != nullptr) {
      auto view = std::make_shared<QueueView>(*record.view);
      ++view->revision;
      for (QueueMember& member : view->members) {
        if (member.node == id) member.shard = shard;
      }
      record.view = std::move(view);
    } else if (entry->record->shard == shard) {
      continue;
    }
    put_queue(*where, *entry, std::move(record));
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
  if (!as_before) spread_queues(entry);
  if (of_that_name != nullptr) {
    move_queues(entry, of_that_name->record->id);
    lose_memberships(of_that_name->record->id, &entry);
    forget(*of_that_name);
  }
  settle_queues();
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
  lose_memberships(command.node, nullptr);
  forget(*entry);
  settle_queues();
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
