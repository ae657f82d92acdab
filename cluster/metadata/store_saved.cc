// The store's part that says all it knows, and that becomes what was saved.
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "broker/runtime/check.h"
#include "cluster/metadata/store_state.h"

namespace ringtail::cluster::metadata {

namespace {

// A visitor that gathers what it is shown.
template <typename List>
auto keep(List& list) {
  return [&list](const auto& record) { list.push_back(record); };
}

}  // namespace

SavedState Store::save_without_resources() const {
  SavedState saved;
  for (const auto& [id, entry] : state_->nodes) {
    saved.nodes.push_back({entry.record, entry.last_request});
  }
  saved.forgotten.assign(state_->forgotten.begin(), state_->forgotten.end());
  for_each_vhost(keep(saved.vhosts));
  for_each_user(keep(saved.users));
  for_each_permission(keep(saved.permissions));
  for_each_topic_permission(keep(saved.topic_permissions));
  for_each_parameter(keep(saved.parameters));
  for_each_policy(keep(saved.policies));
  saved.next_qid = state_->next_qid;
  saved.last_mark = state_->last_mark;
  return saved;
}

SavedState Store::save() const {
  SavedState saved = save_without_resources();
  std::vector<const ExchangeEntry*> exchanges;
  for (const auto& [name, vhost] : state_->vhosts) append_entries(vhost.exchanges, exchanges);
  sort_by_age(exchanges);
  for (const ExchangeEntry* entry : exchanges) {
    if (!entry->record->predeclared) saved.exchanges.push_back(entry->record);
  }
  for_each_queue(keep(saved.queues));
  // The ages of pre-declared exchanges are equal in all replicas within their vhost alone.
  for (const auto& [name, vhost] : state_->vhosts) {
    for (const ExchangeEntry* entry : entries_by_age<ExchangeEntry>(vhost.exchanges)) {
      for (const Binding& binding : entry->bindings_from) {
        saved.bindings.push_back(record_of(binding));
      }
    }
  }
  return saved;
}

void Store::restore(const SavedState& saved) {
  RT_CHECK(!state_->applying, "an observer changed the store that it observes");
  state_->applying = true;
  state_->restore(saved);
  state_->applying = false;
}

namespace {

// The parts of a name, each with its length in front: no two names are alike.
void append_part(std::string& key, std::string_view part) {
  const auto size = static_cast<std::uint32_t>(part.size());
  key.append(reinterpret_cast<const char*>(&size), sizeof size);
  key.append(part);
}

std::string key_of(const BindingRecord& record) {
  std::string key(record.kind == DestinationKind::kExchange ? "e" : "q");
  for (const std::string* part : {&record.vhost, &record.source, &record.destination,
                                  &record.routing_key, &record.arguments}) {
    append_part(key, *part);
  }
  return key;
}

bool same(const ExchangeRecord& a, const ExchangeRecord& b) {
  return a.type == b.type && a.durable == b.durable && a.auto_delete == b.auto_delete &&
         a.internal == b.internal && a.arguments == b.arguments;
}

bool same(const EffectivePolicyPtr& a, const EffectivePolicyPtr& b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a->policy == b->policy && a->operator_policy == b->operator_policy &&
         a->definition == b->definition;
}

bool same_places(const QueueRecord& a, const QueueRecord& b) {
  if ((a.view == nullptr) != (b.view == nullptr)) return false;
  return a.home == b.home && a.shard == b.shard && a.last_epoch == b.last_epoch &&
         a.last_revision == b.last_revision && (a.view == nullptr || *a.view == *b.view);
}

using NamePair = std::pair<std::string_view, std::string_view>;  // vhost, name

template <typename Record>
std::map<NamePair, const Record*> by_name(const std::vector<std::shared_ptr<const Record>>& list) {
  std::map<NamePair, const Record*> result;
  for (const auto& record : list) result.emplace(NamePair(record->vhost, record->name), &*record);
  return result;
}

}  // namespace

void Store::State::restore(const SavedState& saved) {
  restoring = true;
  drop_unsaved_access(saved);
  drop_unsaved_bindings(saved);
  drop_unsaved_resources(saved);
  restore_access(saved);
  restore_nodes(saved);
  restore_resources(saved);
  restoring = false;
  next_qid = saved.next_qid;
  last_mark = saved.last_mark;
  access_result(Outcome::kDone);
  for (Observer* observer : observers) observer->state_restored();
}

// Vhosts and users that are gone, and all that was theirs.
void Store::State::drop_unsaved_access(const SavedState& saved) {
  std::set<std::string_view> wanted;
  for (const auto& record : saved.vhosts) wanted.insert(record->name);
  std::vector<std::string> going;
  for (const auto& [name, where] : vhosts) {
    if (!wanted.contains(name)) going.push_back(name);
  }
  for (const std::string& name : going) {
    const std::shared_ptr<const VhostRecord> record = vhost(name)->record;
    drop_vhost(*vhost(name));
    for (Observer* observer : observers) observer->vhost_removed(*record);
  }
  wanted.clear();
  for (const auto& record : saved.users) wanted.insert(record->name);
  std::vector<std::shared_ptr<const UserRecord>> users;
  access.users.for_each([&](const auto& record) {
    if (!wanted.contains(record->name)) users.push_back(record);
  });
  for (const auto& record : users) {
    access.remove_user(record->name);
    for (Observer* observer : observers) observer->user_removed(*record);
  }
}

void Store::State::drop_unsaved_bindings(const SavedState& saved) {
  if (bindings.empty()) return;
  std::set<std::string> wanted;
  for (const BindingRecord& record : saved.bindings) wanted.insert(key_of(record));
  for (auto& [name, where] : vhosts) {
    for (ExchangeEntry* entry : entries_by_age<ExchangeEntry>(where.exchanges)) {
      std::vector<Binding*> going;
      for (Binding& binding : entry->bindings_from) {
        if (!wanted.contains(key_of(record_of(binding)))) going.push_back(&binding);
      }
      for (Binding* binding : going) drop_binding(*binding);
    }
  }
}

void Store::State::drop_unsaved_resources(const SavedState& saved) {
  const auto exchanges = by_name(saved.exchanges);
  const auto queues = by_name(saved.queues);
  for (auto& [name, where] : vhosts) {
    for (QueueEntry* entry : entries_by_age<QueueEntry>(where.queues)) {
      const auto kept = queues.find(NamePair(name, entry->record->name));
      if (kept == queues.end() || kept->second->qid != entry->record->qid) {
        drop_queue(where, *entry);
      }
    }
    for (ExchangeEntry* entry : entries_by_age<ExchangeEntry>(where.exchanges)) {
      if (entry->record->predeclared) continue;
      const auto kept = exchanges.find(NamePair(name, entry->record->name));
      if (kept == exchanges.end() || !same(*kept->second, *entry->record)) {
        drop_exchange(where, *entry);
      }
    }
  }
}

// Policies come before queues and exchanges: they are given to what is created after them.
void Store::State::restore_access(const SavedState& saved) {
  access = {};
  policies = {};
  for (const auto& record : saved.users) access.users.put(record->name, UserRecord(*record));
  for (const auto& record : saved.policies) policies.put(*record);
  for (const auto& record : saved.permissions) {
    access.permissions.put({record->vhost, record->user}, PermissionRecord(*record));
  }
  for (const auto& record : saved.topic_permissions) {
    access.topic_permissions.put({record->vhost, record->user, record->exchange},
                                 TopicPermissionRecord(*record));
  }
  for (const auto& record : saved.parameters) {
    access.parameters.put({record->component, record->vhost, record->name},
                          ParameterRecord(*record));
  }
}

void Store::State::restore_nodes(const SavedState& saved) {
  forgotten = {saved.forgotten.begin(), saved.forgotten.end()};
  const std::map<NodeId, NodeEntry> before = std::exchange(nodes, {});
  for (const SavedNode& node : saved.nodes) {
    NodeEntry& entry = nodes[node.record->id];
    entry.last_request = node.last_request;
    entry.queues_of_shard.assign(node.record->shards, 0);
    set_node(entry, *node.record);
  }
  for (const auto& [id, entry] : before) {
    if (nodes.contains(id)) continue;
    for (Observer* observer : observers) observer->node_removed(*entry.record);
  }
}

// What is there already has its place and its policy set right; the rest is made. Ages are as in
// every other replica: what is decided by age is decided alike.
void Store::State::restore_resources(const SavedState& saved) {
  next_age = 1;
  for (const auto& record : saved.vhosts) {
    if (Vhost* where = vhost(record->name)) {
      replace_vhost(*where, *record);
      for (ExchangeEntry* entry : entries_by_age<ExchangeEntry>(where->exchanges)) {
        if (entry->record->predeclared) entry->age = next_age++;
      }
    } else {
      create_vhost(*record);
    }
  }
  for (const auto& record : saved.exchanges) {
    Vhost* where = vhost(record->vhost);
    if (where == nullptr) continue;
    if (ExchangeEntry* entry = where->exchanges.find(record->name)) {
      entry->age = next_age++;
    } else {
      create_exchange(*where, *record);
    }
  }
  for (const auto& record : saved.queues) restore_queue(*record);
  for (const BindingRecord& record : saved.bindings) {
    BindingKey key{};
    if (resolve(record, key) != Outcome::kDone) continue;
    if (Binding* known = find_binding(key)) {
      auto& list = known->source->bindings_from;
      list.splice(list.end(), list, list.iterator_to(*known));
    } else {
      create_binding(key, record);
    }
  }
  for (auto& [name, where] : vhosts) {
    apply_policies(where, [this](const PolicySubject& subject, const EffectivePolicyPtr& before) {
      EffectivePolicyPtr now = policies.of(subject);
      return same(now, before) ? before : now;
    });
  }
}

// Whether all nodes and shards that it names are there; in a whole snapshot they are.
bool Store::State::has_places(const QueueRecord& record) const {
  const auto there = [this](NodeId id, ShardId shard) {
    const auto found = nodes.find(id);
    return found != nodes.end() && shard.value < found->second.queues_of_shard.size();
  };
  if (!there(record.home, record.shard)) return false;
  if (record.view == nullptr) return true;
  return std::all_of(
      record.view->members.begin(), record.view->members.end(),
      [&there](const QueueMember& member) { return there(member.node, member.shard); });
}

void Store::State::restore_queue(const QueueRecord& saved) {
  Vhost* where = vhost(saved.vhost);
  if (where == nullptr || !has_places(saved)) return;
  QueueEntry* entry = where->queues.find(saved.name);
  if (entry == nullptr) {
    QueueRecord record = saved;
    record.policy = policy_of(record);
    create_queue(*where, std::move(record));
    return;
  }
  // The nodes have been counted from nothing, as of what is saved.
  entry->age = next_age++;
  tally(saved, true);
  if (same_places(*entry->record, saved)) return;
  QueueRecord record = *entry->record;
  record.home = saved.home;
  record.shard = saved.shard;
  record.view = saved.view;
  record.last_epoch = saved.last_epoch;
  record.last_revision = saved.last_revision;
  put_queue(*where, *entry, std::move(record));
}

}  // namespace ringtail::cluster::metadata
